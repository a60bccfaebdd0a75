//! Ten million blocks of every mode, in every format, beside the port and the reference in C++: the same bytes, and the
//! same blocks rejected.
//!
//! A quarter each: random bytes of every mode (and of the reserved prefix code), blocks of our encoder for texels of
//! every kind, such blocks with random hints, and such blocks with damaged bits.
//!
//! ```text
//! cargo run --release -p transcode-bench --bin verify -- 10000000
//! ```

#[path = "../../../../crates/uastc/tests/kinds/mod.rs"]
#[allow(dead_code, reason = "other programs use the rest")]
mod kinds;

use kiln_transcode::uastc::decode::unpack;
use kiln_transcode::uastc::modes::{MODES, Mode, SOLID};
use kiln_transcode::{Target, transcode};
use kiln_uastc::{Options, Quality, encode_with_errors};
use kinds::{KINDS, Random, block};
use transcode_bench::{FORMATS, Reference, port};

const GROUP: usize = 10_000;

fn main() {
    let wanted: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let groups = wanted.div_ceil(GROUP);
    let counts: Vec<Counts> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut counts = Counts::default();
                    (thread..groups).step_by(threads).for_each(|group| compare(group, &mut counts));
                    counts
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("no difference")).collect()
    });
    let total = counts.iter().fold(Counts::default(), Counts::add);
    println!("{} blocks in {} formats: the same bytes", total.blocks, FORMATS.len());
    println!("by mode: {:?}", total.modes);
    println!("rejected by all: {}", total.rejected);
    assert!(total.modes.iter().all(|&count| count > 0), "every mode occurs");
}

#[derive(Default)]
struct Counts {
    blocks: usize,
    rejected: usize,
    modes: [usize; 19],
}

impl Counts {
    fn add(self, other: &Self) -> Self {
        let modes = std::array::from_fn(|mode| self.modes[mode] + other.modes[mode]);
        Self { blocks: self.blocks + other.blocks, rejected: self.rejected + other.rejected, modes }
    }
}

fn compare(group: usize, counts: &mut Counts) {
    let blocks = generate(group);
    for block in &blocks {
        counts.blocks += 1;
        match Mode::of_first_byte(block[0]) {
            Some(mode) => counts.modes[usize::from(mode)] += 1,
            None => {}
        }
    }
    let transcoder = Reference::default();
    let mut valid = Vec::new();
    for (number, (name, target, format)) in FORMATS.into_iter().enumerate() {
        let len = target.block_bytes();
        let mut ours = Vec::new();
        for block in &blocks {
            let (mut a, mut b) = ([0; 64], [0; 64]);
            let accepted = transcode(block, 4, 4, target, &mut a[..len]).is_ok();
            let expected = port(block, target, &mut b[..len]);
            assert_eq!(accepted, expected, "{name}: {block:02x?}");
            assert_eq!(a, b, "{name}: {block:02x?}");
            if accepted {
                ours.extend_from_slice(&a[..len]);
            }
            if number == 0 {
                counts.rejected += usize::from(!accepted);
                valid.extend(accepted.then_some(*block));
            }
        }
        // Blocks of texels are not rows of texels.
        if target == Target::Rgba8 {
            continue;
        }
        // The reference asserts that hints have a multiplier, and aborts if it is compiled with assertions.
        let uses_hint = matches!(target, Target::Etc2Rgba | Target::EacRg11(_));
        let keeps = |block: &&[u8; 16]| !uses_hint || has_multiplier(block);
        let ours: Vec<u8> =
            ours.chunks(len).zip(&valid).filter(|(_, b)| keeps(b)).flat_map(|(o, _)| o).copied().collect();
        let valid: Vec<[u8; 16]> = valid.iter().filter(keeps).copied().collect();
        let mut theirs = vec![0; ours.len()];
        assert!(
            transcoder.transcode(&valid, target, format, &mut theirs),
            "{name}: the reference rejects a block"
        );
        if ours != theirs {
            let first = ours.chunks(len).zip(theirs.chunks(len)).position(|(a, b)| a != b);
            let at = first.unwrap_or_default();
            let [ours, theirs] = [&ours, &theirs].map(|bytes| &bytes[at * len..][..len]);
            panic!("{name} differs from the reference at {:02x?}: {ours:02x?} {theirs:02x?}", valid[at]);
        }
    }
}

/// Returns false if a block has alpha and an EAC hint with a multiplier of zero, which no encoder writes.
fn has_multiplier(block: &[u8; 16]) -> bool {
    let mode = Mode::of_first_byte(block[0]).expect("a mode");
    let alpha = mode != SOLID && MODES[usize::from(mode)].has_alpha();
    !alpha || unpack(mode, block).expect("a valid block").hints.eac >> 4 > 0
}

fn generate(group: usize) -> Vec<[u8; 16]> {
    let mut random = Random(2026 + group as u64);
    if group % 4 == 0 {
        return (0..GROUP)
            .map(|i| {
                let mut bytes = (u128::from(random.next()) << 64 | u128::from(random.next())).to_le_bytes();
                // Nineteen modes, and the reserved prefix code.
                let (code, bits) = MODES.get(i % 20).map_or((69, 7), |mode| (mode.code, mode.code_bits));
                bytes[0] = bytes[0] & !(((1 << bits) - 1) as u8) | code as u8;
                bytes
            })
            .collect();
    }
    let texels: Vec<_> = (0..GROUP).map(|i| block(i as u32 % KINDS, &mut random)).collect();
    let quality = [Quality::Fast, Quality::Default, Quality::High][group / 4 % 3];
    let mut blocks = Vec::new();
    encode_with_errors(&texels, &Options { quality, rdo: None }, |_, bytes, _| blocks.push(bytes));
    for block in &mut blocks {
        let mode = Mode::of_first_byte(block[0]).expect("a mode");
        let mode = &MODES[usize::from(mode)];
        match group % 4 {
            1 => {}
            2 => {
                // Hints follow the prefix code.
                let mask = (1u128 << 23) - 1;
                let hints = if mode.has_long_hints() {
                    mask >> if mode.has_alpha() { 0 } else { 8 }
                } else {
                    mask >> 6
                };
                let value =
                    u128::from_le_bytes(*block) ^ (u128::from(random.next()) & hints) << mode.code_bits;
                *block = value.to_le_bytes();
            }
            _ => {
                for _ in 0..=random.below(3) {
                    block[random.below(16) as usize] ^= 1 << random.below(8);
                }
            }
        }
    }
    blocks
}
