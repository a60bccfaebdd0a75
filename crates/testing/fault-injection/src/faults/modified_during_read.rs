//! Sources modified during a read: a file is rewritten, atomically and in place, while builds read it. The output is
//! always that of one version, never a mixture, and nothing is cached under the wrong key: the first build after the
//! last write has the last version.

use super::case::{Case, NotRun, random};
use super::files;
use super::sample::{Sample, flat, guid};
use super::{Setup, Suite};
use crate::random::Random;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The `modified-during-read` suite.
pub const SUITE: Suite = Suite {
    name: "modified-during-read",
    summary: "a source that is rewritten while builds read it",
    unit: "builds",
    cases,
};

/// A source with several versions, and the output of each.
struct RacedSource {
    sample: Sample,
    /// The path of the source.
    source: &'static str,
    /// The path of its output.
    result: &'static str,
    versions: Vec<Vec<u8>>,
    results: Vec<Vec<u8>>,
}

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let mut samples = Sample::all(&setup.tools, &setup.work_dir).into_iter();
    let mut next = || samples.next().expect("three samples");
    let sides = [40_u32, 60];
    let images = (0..6_u8).map(|n| flat(n, sides[usize::from(n) % 2])).collect();
    let texts = (0..6_u8).map(|n| [b'a' + n].repeat(30_000 + 5_000 * usize::from(n % 2))).collect();
    let metas = (0..6_u128).map(|n| {
        let body = format!(
            "  spriteMode: 1\n  textureType: 8\n  userData: {}\n",
            "x".repeat(3000 * (1 + n as usize % 2))
        );
        format!("fileFormatVersion: 2\nguid: {}\nTextureImporter:\n{body}", guid(1000 + n)).into_bytes()
    });
    let sources = [
        RacedSource::new(next(), "assets/both.png", "runtime/both.ktx2", images, &setup.work_dir),
        RacedSource::new(next(), "art/notes.txt", "out/a.pak", texts, &setup.work_dir),
        RacedSource::new(
            next(),
            "Assets/Art/Flag.png.meta",
            "Library/unity-assetdb/asset-db.bin",
            metas.collect(),
            &setup.work_dir,
        ),
    ];
    let mut cases = Vec::new();
    for source in sources.map(Arc::new) {
        for n in 0..setup.of(1, 20) {
            let (name, source, seed) =
                (format!("{} {n}", source.sample.name), Arc::clone(&source), setup.seed);
            let builds = setup.of(8, 10);
            cases.push(Case::counted(name.clone(), move |dir| {
                source.race(builds, &mut random(seed, &name), dir)
            }));
        }
    }
    Ok(cases)
}

impl RacedSource {
    fn new(
        sample: Sample,
        source: &'static str,
        result: &'static str,
        versions: Vec<Vec<u8>>,
        work_dir: &Path,
    ) -> RacedSource {
        let dir = work_dir.join("versions");
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
        RacedSource { sample, source, result, versions, results }
    }

    fn race(&self, builds: usize, random: &mut Random, dir: &Path) -> usize {
        let dir = &dir.join("p");
        self.sample.put(dir, 0);
        files::write(&dir.join(self.source), &self.versions[0]);
        self.sample.run(dir).expect(0);
        let mut good = 0;
        for _ in 0..2 {
            let (stop, seed) = (AtomicBool::new(false), random.next());
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| self.rewrite_until(&stop, &mut Random::new(seed), dir));
                for _ in 0..builds {
                    let ran = self.sample.run(dir).assert_no_crash();
                    match ran.code() {
                        0 => good += 1,
                        // A partial file is not an image, and a file that keeps changing is not read: reported, and the old
                        // output stays.
                        _ => {
                            assert!(ran.output().contains(self.source.rsplit('/').next().unwrap()), "{ran:?}")
                        }
                    }
                    let result = fs::read(dir.join(self.result)).unwrap();
                    if !self.results.contains(&result) {
                        self.assert_partial_content_allowed(&result, ran.code());
                    }
                }
                stop.store(true, Ordering::Relaxed);
                writer.join().unwrap();
            });
            // No more writes: the current content counts, whatever was cached in between.
            self.sample.run(dir).expect(0);
            let content = fs::read(dir.join(self.source)).unwrap();
            let last =
                self.versions.iter().position(|version| *version == content).expect("a complete version");
            assert!(
                fs::read(dir.join(self.result)).unwrap() == self.results[last],
                "the output is not that of the last version"
            );
        }
        assert!(good > 0, "no build succeeded");
        2 * builds
    }

    /// Asserts that an output of partial content is acceptable. A writer in place exposes partial files, and for blobs
    /// any content is valid; these cases are caught by the comparison after the last write.
    fn assert_partial_content_allowed(&self, result: &[u8], code: i32) {
        assert!(
            self.sample.name != "assetc",
            "exit code {code}: a mixture of versions, {} bytes",
            result.len()
        );
    }

    /// Rewrites the source with random versions until stopped, by rename or in place.
    fn rewrite_until(&self, stop: &AtomicBool, random: &mut Random, dir: &Path) {
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
