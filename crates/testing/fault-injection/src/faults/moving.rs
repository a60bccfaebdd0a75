//! Moving sources: a file is written, carefully and carelessly, while builds read it. What comes out is always one of its
//! versions, never a mixture, and nothing is remembered under the wrong name: the first build after the last write has
//! the last version.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::{Sample, flat, guid};
use super::{Row, Setup};
use crate::random::Random;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// This row.
pub const ROW: Row =
    Row { name: "moving", what: "a source that changes while it is read", unit: "builds", cases };

/// A source with several versions, and what a build makes of each.
struct Mover {
    sample: Sample,
    /// Where the source is.
    source: &'static str,
    /// Where its result is.
    result: &'static str,
    versions: Vec<Vec<u8>>,
    results: Vec<Vec<u8>>,
}

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let mut samples = Sample::all(&setup.tools, &setup.room).into_iter();
    let mut next = || samples.next().expect("three samples");
    let sides = [40_u32, 60];
    let pictures = (0..6_u8).map(|n| flat(n, sides[usize::from(n) % 2])).collect();
    let texts = (0..6_u8).map(|n| [b'a' + n].repeat(30_000 + 5_000 * usize::from(n % 2))).collect();
    let metas = (0..6_u128).map(|n| {
        let body = format!(
            "  spriteMode: 1\n  textureType: 8\n  userData: {}\n",
            "x".repeat(3000 * (1 + n as usize % 2))
        );
        format!("fileFormatVersion: 2\nguid: {}\nTextureImporter:\n{body}", guid(1000 + n)).into_bytes()
    });
    let movers = [
        Mover::new(next(), "assets/both.png", "runtime/both.ktx2", pictures, &setup.room),
        Mover::new(next(), "art/notes.txt", "out/a.pak", texts, &setup.room),
        Mover::new(
            next(),
            "Assets/Art/Flag.png.meta",
            "Library/unity-assetdb/asset-db.bin",
            metas.collect(),
            &setup.room,
        ),
    ];
    let mut cases = Vec::new();
    for mover in movers.map(Arc::new) {
        for n in 0..setup.of(1, 20) {
            let (name, mover, seed) = (format!("{} {n}", mover.sample.name), Arc::clone(&mover), setup.seed);
            let builds = setup.of(8, 10);
            cases.push(Case::counted(name.clone(), move |dir| {
                mover.raced(builds, &mut random(seed, &name), dir)
            }));
        }
    }
    Ok(cases)
}

impl Mover {
    fn new(
        sample: Sample,
        source: &'static str,
        result: &'static str,
        versions: Vec<Vec<u8>>,
        room: &Path,
    ) -> Mover {
        let dir = room.join("versions");
        let results = versions.iter().map(|version| {
            sample.put(&dir, 0);
            files::write(&dir.join(source), version);
            sample.run(&dir).expect(0);
            let result = fs::read(dir.join(result)).unwrap();
            files::remove(&dir);
            result
        });
        let results: Vec<_> = results.collect();
        assert!(results.iter().enumerate().all(|(n, r)| !results[..n].contains(r)), "versions differ");
        Mover { sample, source, result, versions, results }
    }

    fn raced(&self, builds: usize, random: &mut Random, dir: &Path) -> usize {
        let dir = &dir.join("p");
        self.sample.put(dir, 0);
        files::write(&dir.join(self.source), &self.versions[0]);
        self.sample.run(dir).expect(0);
        let mut good = 0;
        for _ in 0..2 {
            let (stop, seed) = (AtomicBool::new(false), random.next());
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| self.write_on(&stop, &mut Random::new(seed), dir));
                for _ in 0..builds {
                    let ran = self.sample.run(dir).calm();
                    match ran.code() {
                        0 => good += 1,
                        // Half a file is no picture, and a file that never rests is not read: said, and nothing is lost.
                        _ => assert!(ran.said().contains(self.source.rsplit('/').next().unwrap()), "{ran:?}"),
                    }
                    let result = fs::read(dir.join(self.result)).unwrap();
                    if !self.results.contains(&result) {
                        self.is_of_a_part(&result, ran.code());
                    }
                }
                stop.store(true, Ordering::Relaxed);
                writer.join().unwrap();
            });
            // At rest: what is there now counts, whatever was remembered in between.
            self.sample.run(dir).expect(0);
            let rests = fs::read(dir.join(self.source)).unwrap();
            let last = self.versions.iter().position(|version| *version == rests).expect("whole at rest");
            assert!(
                fs::read(dir.join(self.result)).unwrap() == self.results[last],
                "not the version that rests"
            );
        }
        assert!(good > 0, "no build came through");
        2 * builds
    }

    /// A careless writer lets others see files that it has not finished: their content is as good as any, where
    /// anything is content. Those are caught by the comparison at rest.
    fn is_of_a_part(&self, result: &[u8], code: i32) {
        assert!(
            self.sample.name != "assetc",
            "exit code {code}: a mixture of versions, {} bytes",
            result.len()
        );
    }

    /// Writes versions over each other, as careful and as careless programs do.
    fn write_on(&self, stop: &AtomicBool, random: &mut Random, dir: &Path) {
        let (source, spare) = (dir.join(self.source), dir.with_extension("spare"));
        while !stop.load(Ordering::Relaxed) {
            let bytes = random.pick(&self.versions);
            if random.one_in(3) {
                files::write(&spare, bytes);
                fs::rename(&spare, &source).unwrap();
            } else {
                let mut file = File::options().write(true).truncate(random.one_in(2)).open(&source).unwrap();
                let (first, rest) = bytes.split_at(random.below(bytes.len()));
                file.write_all(first).unwrap();
                std::thread::sleep(Duration::from_micros(random.below(400) as u64));
                file.write_all(rest).unwrap();
                file.set_len(bytes.len() as u64).unwrap();
            }
            std::thread::sleep(Duration::from_micros(random.below(8000) as u64));
        }
    }
}
