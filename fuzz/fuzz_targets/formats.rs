//! Any bytes, every format: an error or a file whose every part can be read.
#![no_main]

use kiln_format::FORMATS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for format in FORMATS {
        if format.verify(bytes).is_ok() {
            let mut text = String::new();
            format.dump(bytes, &mut text).expect("it was verified");
            format.facts(bytes, &mut |_, _| ()).expect("it was verified");
        }
    }
});
