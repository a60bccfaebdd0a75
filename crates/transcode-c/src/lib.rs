//! The C ABI of `kiln-transcode`; `include/kiln_transcode.h` documents it.
//!
//! Every function checks its pointers for null and its lengths, and converts errors to status codes. A panic cannot
//! cross the boundary: the transcoder has none, and `extern "C"` functions abort on one.

#![allow(unsafe_code, reason = "pointers of C; every use has its safety argument")]

use core::ffi::{CStr, c_char, c_int};
use core::slice;

use kiln_transcode::ktx2::{LevelLayout, LoadError, Texture, decompress, load_level};
use kiln_transcode::{Channel, Error, Target, transcode};

/// The status codes of `kiln_transcode.h`.
const OK: c_int = 0;
const NEED_MORE_BYTES: c_int = 1;
const INVALID_FILE: c_int = 2;
const NO_SUCH_LEVEL: c_int = 3;
const UNSUPPORTED_FORMAT: c_int = 4;
const INVALID_ZSTD: c_int = 5;
const INVALID_BLOCK: c_int = 6;
const WRONG_LENGTH: c_int = 7;
const OUT_OF_MEMORY: c_int = 8;
const INVALID_ARGUMENT: c_int = 9;

/// `kiln_transcode_level` of the header.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LevelInfo {
    width: u32,
    height: u32,
    images: u32,
    vk_format: u32,
    level_count: u32,
    first_available_level: u32,
    output_size: u64,
    needed_size: u64,
}

fn target(number: u32) -> Option<Target> {
    use Channel::{Alpha, Green, Red};
    Some(match number {
        0 => Target::Rgba8,
        1 => Target::Astc4x4,
        2 => Target::Bc7,
        3 => Target::Bc1,
        4 => Target::Bc3,
        5 => Target::Bc4(Red),
        6 => Target::Bc5([Red, Green]),
        7 => Target::Bc5([Red, Alpha]),
        8 => Target::Etc1,
        9 => Target::Etc2Rgba,
        10 => Target::EacR11(Red),
        11 => Target::EacRg11([Red, Green]),
        12 => Target::EacRg11([Red, Alpha]),
        _ => return None,
    })
}

fn status(error: &LoadError) -> c_int {
    match error {
        LoadError::NeedMoreBytes { .. } => NEED_MORE_BYTES,
        LoadError::File(_) => INVALID_FILE,
        LoadError::Level { .. } => NO_SUCH_LEVEL,
        LoadError::Format { .. } => UNSUPPORTED_FORMAT,
        LoadError::Zstd => INVALID_ZSTD,
        LoadError::BufferLength { .. } => WRONG_LENGTH,
        LoadError::OutOfMemory => OUT_OF_MEMORY,
        LoadError::Transcode(error) => block_status(*error),
        _ => INVALID_FILE,
    }
}

fn block_status(error: Error) -> c_int {
    match error {
        Error::Block { .. } => INVALID_BLOCK,
        Error::TooLarge => OUT_OF_MEMORY,
        _ => WRONG_LENGTH,
    }
}

/// Returns the bytes at a pointer of C; none for a null pointer of length zero.
///
/// # Safety
///
/// `data` points to `size` bytes that nobody writes to meanwhile, or is null.
unsafe fn bytes<'a>(data: *const u8, size: usize) -> Option<&'a [u8]> {
    match (data.is_null(), size) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's promise; a slice has at most `isize::MAX` bytes.
        _ if isize::try_from(size).is_ok() => Some(unsafe { slice::from_raw_parts(data, size) }),
        _ => None,
    }
}

/// Returns the bytes at a pointer of C, for writing.
///
/// # Safety
///
/// `data` points to `size` initialised bytes that nobody else accesses meanwhile, or is null.
unsafe fn bytes_mut<'a>(data: *mut u8, size: usize) -> Option<&'a mut [u8]> {
    match (data.is_null(), size) {
        (_, 0) => Some(&mut []),
        (true, _) => None,
        // SAFETY: the caller's promise; a slice has at most `isize::MAX` bytes.
        _ if isize::try_from(size).is_ok() => Some(unsafe { slice::from_raw_parts_mut(data, size) }),
        _ => None,
    }
}

/// Returns the size of an image in a format; 0 if there is no such format or the size exceeds the address space.
#[unsafe(no_mangle)]
pub extern "C" fn kiln_transcode_image_size(number: u32, width: u32, height: u32) -> usize {
    target(number).and_then(|target| target.image_len(width, height)).unwrap_or(0)
}

/// Transcodes the blocks of an image.
///
/// # Safety
///
/// `blocks` points to `blocks_size` readable bytes and `out` to `out_size` writable ones that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kiln_transcode_image(
    blocks: *const u8,
    blocks_size: usize,
    width: u32,
    height: u32,
    number: u32,
    out: *mut u8,
    out_size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let (blocks, out) = unsafe { (bytes(blocks, blocks_size), bytes_mut(out, out_size)) };
    let (Some(blocks), Some(out), Some(target)) = (blocks, out, target(number)) else {
        return INVALID_ARGUMENT;
    };
    match transcode(blocks, width, height, target, out) {
        Ok(()) => OK,
        Err(error) => block_status(error),
    }
}

/// Describes a mip level of a KTX2 file of which the first bytes are known.
///
/// # Safety
///
/// `file` points to `size` readable bytes, `info` to a writable structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kiln_transcode_level_info(
    file: *const u8,
    size: usize,
    level: u32,
    number: u32,
    info: *mut LevelInfo,
) -> c_int {
    // SAFETY: the caller's promise.
    let (file, info) = unsafe { (bytes(file, size), info.as_mut()) };
    let (Some(file), Some(info), Some(target)) = (file, info, target(number)) else {
        return INVALID_ARGUMENT;
    };
    *info = LevelInfo::default();
    match describe(file, level, target, info) {
        Ok(()) => OK,
        Err(error) => {
            if let LoadError::NeedMoreBytes { total } = error {
                info.needed_size = total;
            }
            status(&error)
        }
    }
}

fn describe(file: &[u8], level: u32, target: Target, info: &mut LevelInfo) -> Result<(), LoadError> {
    let texture = Texture::read(file)?;
    let LevelLayout { width, height, images, output_len, prefix_len, vk_format, .. } =
        texture.layout(level, target)?;
    *info = LevelInfo {
        width,
        height,
        images: u32::try_from(images).map_err(|_| LoadError::OutOfMemory)?,
        vk_format,
        level_count: texture.view().level_count(),
        first_available_level: texture.available_levels().start,
        output_size: output_len as u64,
        needed_size: prefix_len,
    };
    if prefix_len > file.len() as u64 {
        return Err(LoadError::NeedMoreBytes { total: prefix_len });
    }
    Ok(())
}

/// Loads a mip level of a KTX2 file of which the first bytes are known.
///
/// # Safety
///
/// `file` points to `size` readable bytes and `out` to `out_size` writable ones that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kiln_transcode_load_level(
    file: *const u8,
    size: usize,
    level: u32,
    number: u32,
    out: *mut u8,
    out_size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let (file, out) = unsafe { (bytes(file, size), bytes_mut(out, out_size)) };
    let (Some(file), Some(out), Some(target)) = (file, out, target(number)) else {
        return INVALID_ARGUMENT;
    };
    match load_level(file, level, target) {
        Ok(loaded) if loaded.bytes.len() == out.len() => {
            out.copy_from_slice(&loaded.bytes);
            OK
        }
        Ok(_) => WRONG_LENGTH,
        Err(error) => status(&error),
    }
}

/// Decompresses a Zstandard frame.
///
/// # Safety
///
/// `frame` points to `size` readable bytes and `out` to `out_size` writable ones that do not overlap them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kiln_transcode_decompress(
    frame: *const u8,
    size: usize,
    out: *mut u8,
    out_size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let (frame, out) = unsafe { (bytes(frame, size), bytes_mut(out, out_size)) };
    let (Some(frame), Some(out)) = (frame, out) else {
        return INVALID_ARGUMENT;
    };
    match decompress(frame, out.len()) {
        Ok(content) => {
            out.copy_from_slice(&content);
            OK
        }
        Err(error) => status(&error),
    }
}

/// Returns an English message for a status code.
#[unsafe(no_mangle)]
pub extern "C" fn kiln_transcode_message(status: c_int) -> *const c_char {
    let message: &CStr = match status {
        OK => c"success",
        NEED_MORE_BYTES => c"more bytes of the file are needed",
        INVALID_FILE => c"not a KTX2 file that Kiln could have written",
        NO_SUCH_LEVEL => c"the texture has no such mip level",
        UNSUPPORTED_FORMAT => c"the texture is neither UASTC nor in the format of the target",
        INVALID_ZSTD => c"the Zstandard frame is invalid, or its content has another length",
        INVALID_BLOCK => c"a block is not a UASTC block",
        WRONG_LENGTH => c"a buffer has the wrong length",
        OUT_OF_MEMORY => c"the content does not fit in the memory",
        INVALID_ARGUMENT => c"an argument is null or out of range",
        _ => c"unknown status",
    };
    message.as_ptr()
}

/// The alignment of the memory that a host of WebAssembly gets.
#[cfg(target_arch = "wasm32")]
const HOST_ALIGNMENT: usize = 16;

/// Allocates zeroed memory for a host of WebAssembly, which has no allocator for the memory of the module; null if `size` is
/// 0 or there is not enough. `kiln_transcode_free` frees it.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub extern "C" fn kiln_transcode_allocate(size: usize) -> *mut u8 {
    match std::alloc::Layout::from_size_align(size, HOST_ALIGNMENT) {
        // SAFETY: the size of the layout is not zero.
        Ok(layout) if size > 0 => unsafe { std::alloc::alloc_zeroed(layout) },
        _ => core::ptr::null_mut(),
    }
}

/// Frees memory of `kiln_transcode_allocate`.
///
/// # Safety
///
/// `data` is null, or comes from `kiln_transcode_allocate` with the same `size` and was not freed yet.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kiln_transcode_free(data: *mut u8, size: usize) {
    if let Ok(layout) = std::alloc::Layout::from_size_align(size, HOST_ALIGNMENT)
        && !data.is_null()
    {
        // SAFETY: the caller's promise.
        unsafe { std::alloc::dealloc(data, layout) }
    }
}
