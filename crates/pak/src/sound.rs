//! Sounds: blobs in the formats Ogg (Vorbis, Opus), MP3, WAV and FLAC, with the properties that their headers declare.
//!
//! The bytes are unchanged and decoded by the game. Rejected are other formats, headers that are truncated or contradict
//! themselves, and WAV files whose data is truncated.

use crate::Bytes;
use std::fmt;
use std::time::Duration;

/// The format of a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SoundFormat {
    /// Vorbis in an Ogg stream.
    Vorbis,
    /// Opus in an Ogg stream.
    Opus,
    /// MPEG audio, layer III.
    Mp3,
    /// RIFF WAVE.
    Wav,
    /// FLAC.
    Flac,
}

impl SoundFormat {
    /// Returns the usual spelling of the name.
    pub const fn name(self) -> &'static str {
        match self {
            SoundFormat::Vorbis => "Ogg Vorbis",
            SoundFormat::Opus => "Ogg Opus",
            SoundFormat::Mp3 => "MP3",
            SoundFormat::Wav => "WAV",
            SoundFormat::Flac => "FLAC",
        }
    }
}

/// The properties of a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SoundInfo {
    /// The format of the bytes.
    pub format: SoundFormat,
    /// The number of channels, at least 1.
    pub channels: u16,
    /// Samples per second of each channel. Opus always decodes to 48,000.
    pub sample_rate: u32,
    /// The number of samples of each channel; `None` if the file does not declare it.
    pub frames: Option<u64>,
}

impl SoundInfo {
    /// Returns the duration; `None` if the file does not declare it.
    pub fn duration(&self) -> Option<Duration> {
        let rate = u64::from(self.sample_rate);
        let (seconds, rest) = (self.frames? / rate, self.frames? % rate);
        Some(Duration::new(seconds, (rest * 1_000_000_000 / rate) as u32))
    }

    /// Reads the headers of a sound.
    ///
    /// # Errors
    /// [`SoundError`] if the format is not known or a header is not valid.
    pub fn parse(bytes: &[u8]) -> Result<SoundInfo, SoundError> {
        // Taggers put ID3 tags before MP3 and FLAC files.
        let start = id3_end(bytes)?;
        match bytes.get(start..).ok_or(TRUNCATED)? {
            [b'R', b'I', b'F', b'F', ..] => wav(bytes),
            [b'f', b'L', b'a', b'C', ..] => flac(&bytes[start..]),
            [b'O', b'g', b'g', b'S', ..] => ogg(bytes),
            [0xff, 0xe0..=0xff, ..] => mp3(&bytes[start..]),
            _ if start > 0 => Err(NO_FRAMES),
            _ => Err(SoundError("the file is not an Ogg, MP3, WAV or FLAC file")),
        }
    }
}

/// The reason that a file is not a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundError(
    /// The reason, as a sentence without a period.
    pub &'static str,
);

impl fmt::Display for SoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for SoundError {}

/// A sound: its properties, and the bytes of its file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sound {
    /// The properties of the sound.
    pub info: SoundInfo,
    /// The file, unchanged.
    pub bytes: Bytes,
}

const TRUNCATED: SoundError = SoundError("unexpected end of file in the header of the sound");

/// Returns the bytes of a range; an error if they are not there.
fn at<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], SoundError> {
    let found = bytes.get(offset..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(TRUNCATED)
}

fn u16_at(bytes: &[u8], offset: usize) -> Result<u16, SoundError> {
    at(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Result<u32, SoundError> {
    at(bytes, offset).map(u32::from_le_bytes)
}

fn checked(
    format: SoundFormat,
    channels: u16,
    sample_rate: u32,
    frames: Option<u64>,
) -> Result<SoundInfo, SoundError> {
    if channels == 0 || sample_rate == 0 {
        return Err(SoundError("the header declares no channels or a sample rate of 0"));
    }
    Ok(SoundInfo { format, channels, sample_rate, frames })
}

fn wav(bytes: &[u8]) -> Result<SoundInfo, SoundError> {
    if at::<4>(bytes, 8)? != *b"WAVE" {
        return Err(SoundError("the RIFF file is not a WAVE file"));
    }
    let (mut offset, mut format) = (12, None);
    loop {
        let (id, len) = (at::<4>(bytes, offset)?, u32_at(bytes, offset + 4)? as usize);
        let start = offset + 8;
        match &id {
            b"fmt " => {
                let (channels, rate) = (u16_at(bytes, start + 2)?, u32_at(bytes, start + 4)?);
                format = Some((channels, rate, u16_at(bytes, start + 12)?, u16_at(bytes, start)?));
            }
            b"data" => {
                // A file that was written to a pipe does not know its length.
                let len = if len == u32::MAX as usize { bytes.len().saturating_sub(start) } else { len };
                let (channels, rate, block, tag) =
                    format.ok_or(SoundError("the WAVE file has no format before its data"))?;
                if start.checked_add(len).is_none_or(|end| end > bytes.len()) {
                    return Err(SoundError("the data of the WAVE file is truncated"));
                }
                if block == 0 {
                    return Err(SoundError("the WAVE file declares blocks of 0 bytes"));
                }
                // PCM, float and extensible: a block is one sample of every channel.
                let is_pcm = matches!(tag, 1 | 3 | 0xfffe);
                let frames = is_pcm.then(|| len as u64 / u64::from(block));
                return checked(SoundFormat::Wav, channels, rate, frames);
            }
            _ => {}
        }
        // Chunks are padded to an even length.
        offset = start.checked_add(len).and_then(|end| end.checked_next_multiple_of(2)).ok_or(TRUNCATED)?;
    }
}

fn flac(bytes: &[u8]) -> Result<SoundInfo, SoundError> {
    let head: [u8; 4] = at(bytes, 4)?;
    if head[0] & 0x7f != 0 || u32::from_be_bytes([0, head[1], head[2], head[3]]) != 34 {
        return Err(SoundError("the FLAC file does not start with its stream information"));
    }
    // 20 bits of sample rate, 3 of channels, 5 of depth, 36 of samples.
    let bits = u64::from_be_bytes(at(bytes, 18)?);
    let frames = Some(bits & ((1 << 36) - 1)).filter(|frames| *frames > 0);
    checked(SoundFormat::Flac, (bits >> 41 & 7) as u16 + 1, (bits >> 44) as u32, frames)
}

/// A page of an Ogg stream.
struct OggPage<'a> {
    granule: u64,
    serial: u32,
    body: &'a [u8],
    end: usize,
}

fn ogg_page(bytes: &[u8], offset: usize) -> Result<OggPage<'_>, SoundError> {
    let head: [u8; 27] = at(bytes, offset)?;
    if head[..4] != *b"OggS" || head[4] != 0 {
        return Err(SoundError("the Ogg stream has a damaged page"));
    }
    let segments = usize::from(head[26]);
    let table = bytes.get(offset + 27..).and_then(|rest| rest.get(..segments)).ok_or(TRUNCATED)?;
    let start = offset + 27 + segments;
    let end = start + table.iter().map(|len| usize::from(*len)).sum::<usize>();
    let body = bytes.get(start..end).ok_or(TRUNCATED)?;
    Ok(OggPage {
        granule: u64::from_le_bytes(at(bytes, offset + 6)?),
        serial: u32_at(bytes, offset + 14)?,
        body,
        end,
    })
}

fn ogg(bytes: &[u8]) -> Result<SoundInfo, SoundError> {
    let first = ogg_page(bytes, 0)?;
    let (format, channels, rate, skip) = match first.body {
        [1, b'v', b'o', b'r', b'b', b'i', b's', rest @ ..] => {
            (SoundFormat::Vorbis, at::<1>(rest, 4)?[0], u32_at(rest, 5)?, 0)
        }
        [b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', rest @ ..] => {
            (SoundFormat::Opus, at::<1>(rest, 1)?[0], 48_000, u64::from(u16_at(rest, 2)?))
        }
        _ => return Err(SoundError("the Ogg stream is neither Vorbis nor Opus")),
    };
    // The last page of the stream has its number of samples. A page that completes no packet has all bits set.
    let (mut offset, mut last) = (first.end, None);
    while offset < bytes.len() {
        let page = ogg_page(bytes, offset)?;
        if page.serial == first.serial && page.granule != u64::MAX {
            last = Some(page.granule);
        }
        offset = page.end;
    }
    let frames = last.map(|last| last.saturating_sub(skip));
    checked(format, channels.into(), rate, frames)
}

/// A frame header of MPEG audio.
#[derive(Clone, Copy)]
struct Mp3Frame {
    len: usize,
    samples: u64,
    rate: u32,
    channels: u16,
    is_mpeg1: bool,
}

fn mp3_frame(bytes: &[u8], offset: usize) -> Option<Mp3Frame> {
    let [sync, b, c, d] = at(bytes, offset).ok()?;
    let (version, layer) = (b >> 3 & 3, b >> 1 & 3);
    if sync != 0xff || b < 0xe0 || version == 1 || layer != 1 {
        return None;
    }
    const MPEG1: [u32; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const MPEG2: [u32; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let is_mpeg1 = version == 3;
    let rates = if is_mpeg1 { &MPEG1 } else { &MPEG2 };
    let bit_rate = 1000 * rates.get(usize::from(c >> 4).checked_sub(1)?)?;
    let base: u32 = *[44_100, 48_000, 32_000].get(usize::from(c >> 2 & 3))?;
    let rate = match version {
        3 => base,
        2 => base / 2,
        _ => base / 4,
    };
    let samples: u32 = if is_mpeg1 { 1152 } else { 576 };
    let len = (samples / 8 * bit_rate / rate + u32::from(c >> 1 & 1)) as usize;
    let channels = if d >> 6 == 3 { 1 } else { 2 };
    Some(Mp3Frame { len, samples: samples.into(), rate, channels, is_mpeg1 })
}

/// Returns the offset after the ID3v2 tags at the start of a file and the zeros that pad them; 0 without a tag.
fn id3_end(bytes: &[u8]) -> Result<usize, SoundError> {
    let mut offset = 0;
    while bytes.get(offset..).is_some_and(|rest| rest.starts_with(b"ID3")) {
        let head: [u8; 10] = at(bytes, offset)?;
        let len = head[6..].iter().fold(0, |len, byte| len << 7 | usize::from(byte & 0x7f));
        offset += 10 + len + if head[5] & 0x10 != 0 { 10 } else { 0 };
        let padding = bytes.get(offset..).unwrap_or_default().iter().take_while(|byte| **byte == 0);
        offset += padding.count();
    }
    Ok(offset)
}

const NO_FRAMES: SoundError =
    SoundError("the file has no frames of MPEG audio, layer III, where they should start");

fn mp3(bytes: &[u8]) -> Result<SoundInfo, SoundError> {
    let mut offset = 0;
    let first = mp3_frame(bytes, 0).ok_or(NO_FRAMES)?;
    // Behind the side information of the first frame, encoders store the number of frames.
    let side = match (first.is_mpeg1, first.channels) {
        (true, 2) => 32,
        (true, _) | (false, 2) => 17,
        _ => 9,
    };
    let tag = 4 + side;
    let is_info = matches!(&at::<4>(bytes, tag), Ok(name) if name == b"Xing" || name == b"Info");
    if is_info && at::<4>(bytes, tag + 4)?[3] & 1 != 0 {
        let count = u32::from_be_bytes(at(bytes, tag + 8)?);
        let frames = u64::from(count) * first.samples;
        return checked(SoundFormat::Mp3, first.channels, first.rate, Some(frames));
    }
    let mut count: u64 = 0;
    while let Some(frame) = mp3_frame(bytes, offset).filter(|frame| frame.rate == first.rate) {
        (count, offset) = (count + 1, offset + frame.len);
    }
    // Two bytes can be a frame header by chance, a sequence of them not.
    if count < 2 && offset < bytes.len() {
        return Err(NO_FRAMES);
    }
    checked(SoundFormat::Mp3, first.channels, first.rate, Some(count * first.samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(bytes: &[u8]) -> (SoundFormat, u16, u32, Option<u64>) {
        let info = SoundInfo::parse(bytes).unwrap();
        (info.format, info.channels, info.sample_rate, info.frames)
    }

    /// A WAVE file of 16-bit stereo samples.
    fn wav_file(frames: u32) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x02\0".to_vec();
        out.extend(22_050u32.to_le_bytes());
        out.extend((22_050u32 * 4).to_le_bytes());
        out.extend(b"\x04\0\x10\0data");
        out.extend((frames * 4).to_le_bytes());
        out.resize(out.len() + frames as usize * 4, 0);
        out
    }

    fn flac_file() -> Vec<u8> {
        let mut out = b"fLaC\x80\0\0\x22".to_vec();
        out.extend([0; 10]);
        let bits: u64 = 44_100 << 44 | 1 << 41 | 15 << 36 | 88_200;
        out.extend(bits.to_be_bytes());
        out.extend([0; 16]);
        out
    }

    fn page(granule: u64, body: &[u8]) -> Vec<u8> {
        let mut out = b"OggS\0\0".to_vec();
        out.extend(granule.to_le_bytes());
        out.extend(7u32.to_le_bytes());
        out.extend([0; 8]);
        out.extend([1, body.len() as u8]);
        out.extend(body);
        out
    }

    fn vorbis_file() -> Vec<u8> {
        let mut head = b"\x01vorbis\0\0\0\0\x02".to_vec();
        head.extend(48_000u32.to_le_bytes());
        head.extend([0; 14]);
        [page(0, &head), page(24_000, b"x"), page(96_000, b"y"), page(u64::MAX, b"z")].concat()
    }

    fn opus_file() -> Vec<u8> {
        let head = b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0";
        [page(0, head), page(48_312, b"x")].concat()
    }

    /// MPEG 1, layer III, 128 kbit/s, 44,100 Hz, stereo: frames of 417 bytes.
    fn mp3_file(frames: usize) -> Vec<u8> {
        let mut frame = vec![0xff, 0xfb, 0x90, 0];
        frame.resize(417, 0);
        let tag = b"ID3\x04\0\0\0\0\x01\x05".to_vec();
        [tag, vec![0; 133], frame.repeat(frames), b"TAG".to_vec()].concat()
    }

    #[test]
    fn headers_have_channels_rate_and_duration() {
        assert_eq!(info(&wav_file(11_025)), (SoundFormat::Wav, 2, 22_050, Some(11_025)));
        assert_eq!(info(&flac_file()), (SoundFormat::Flac, 2, 44_100, Some(88_200)));
        assert_eq!(info(&vorbis_file()), (SoundFormat::Vorbis, 2, 48_000, Some(96_000)));
        assert_eq!(info(&opus_file()), (SoundFormat::Opus, 1, 48_000, Some(48_000)));
        assert_eq!(info(&mp3_file(10)), (SoundFormat::Mp3, 2, 44_100, Some(11_520)));
        let mut xing = mp3_file(10);
        xing[143 + 36..143 + 48].copy_from_slice(b"Xing\0\0\0\x01\0\0\x01\0");
        assert_eq!(info(&xing), (SoundFormat::Mp3, 2, 44_100, Some(256 * 1152)));
        // Tags before a FLAC file, two of them with padding before an MP3 file, and a WAVE file from a pipe.
        let tag = b"ID3\x04\0\0\0\0\0\x02xy".to_vec();
        assert_eq!(info(&[tag.clone(), flac_file()].concat()), info(&flac_file()));
        assert_eq!(info(&[tag, vec![0; 9], mp3_file(10)].concat()), info(&mp3_file(10)));
        let (mut piped, at) = (wav_file(100), wav_file(0).len() - 4);
        piped[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(info(&piped), info(&wav_file(100)));
        let duration = SoundInfo::parse(&wav_file(11_025)).unwrap().duration();
        assert_eq!(duration, Some(Duration::from_millis(500)));
    }

    #[test]
    fn rejects_other_files_and_truncated_headers() {
        for bytes in [&b""[..], b"hello", b"RIFF\0\0\0\0AVI ", b"fLaC", b"OggS", b"ID3", b"\xff\xfb\x90\0"] {
            let parsed = SoundInfo::parse(bytes);
            assert!(parsed.is_err() || bytes.starts_with(b"\xff"), "{bytes:?}");
        }
        let wav = wav_file(100);
        for len in 0..wav.len() {
            assert!(SoundInfo::parse(&wav[..len]).is_err(), "{len}");
        }
        for file in [flac_file(), vorbis_file(), opus_file(), mp3_file(3)] {
            for at in 0..file.len() {
                let _ = SoundInfo::parse(&file[..at]);
                let mut bad = file.clone();
                bad[at] ^= 0xff;
                let _ = SoundInfo::parse(&bad).map(|info| info.duration());
            }
        }
    }
}
