//! Decodes compressed meshes (`mesh.compress: meshopt`) and prints their sizes and the speed of the decoder.
//!
//! ```sh
//! assetc convert ToyCar.gltf -o ToyCar.hmesh --mesh-compress meshopt
//! cargo run --release -p kiln-format --example decode_mesh -- ToyCar.hmesh
//! ```
//!
//! The time is the least of many runs on one thread, into memory that was written before.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use kiln_format::hmesh::{CompressedHmesh, HmeshView};
use std::error::Error;
use std::time::{Duration, Instant};

/// Runs per file: at least this many, and for this long.
const RUNS: usize = 50;
const TIME: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    println!("file | encoded bytes | decoded bytes | ratio | GB/s");
    for path in std::env::args().skip(1) {
        let file = std::fs::read(&path)?;
        let mesh = CompressedHmesh::read(&file)?;
        let mut decoded = vec![0; usize::try_from(mesh.decoded_size())?];
        let (started, mut least, mut runs) = (Instant::now(), Duration::MAX, 0);
        while runs < RUNS || started.elapsed() < TIME {
            let run = Instant::now();
            mesh.decode_into(&mut decoded)?;
            least = least.min(run.elapsed());
            runs += 1;
        }
        HmeshView::read(&decoded)?.verify()?;
        let ratio = file.len() as f64 / decoded.len() as f64;
        let speed = decoded.len() as f64 / least.as_secs_f64() / 1e9;
        println!("{path} | {} | {} | {ratio:.3} | {speed:.2}", file.len(), decoded.len());
    }
    Ok(())
}
