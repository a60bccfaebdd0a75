//! Any bytes, under every extension: an error or a picture.
#![no_main]

use kiln_import::image::{self, IMAGE_EXTENSIONS, Limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let extension = IMAGE_EXTENSIONS[usize::from(input.0) % IMAGE_EXTENSIONS.len()];
    let limits = Limits { max_side: 1024, ..Limits::default() };
    if let Ok(imported) = image::import(input.1, extension, &limits) {
        assert!(imported.value.width() > 0 && imported.value.height() > 0);
    }
});
