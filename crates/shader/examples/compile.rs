//! Compiles the shader given on the command line to SPIR-V and prints the size of the module.
//!
//! ```text
//! cargo run -p kiln-shader --example compile -- sky.vert
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its result")]

use std::path::Path;

use kiln_shader::{Include, Included, Includes, Options, Source, Target, compile, language_of, stage_of};

/// Resolves includes relative to the including file.
struct Files;

impl Includes for Files {
    fn include(&mut self, include: Include<'_>) -> Option<Included> {
        let path = Path::new(include.from).parent()?.join(include.name);
        let text = std::fs::read_to_string(&path).ok()?;
        Some(Included { path: path.to_string_lossy().into_owned(), text })
    }
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let (Some(language), Some(stage)) = (language_of(&path), stage_of(&path)) else {
        eprintln!("usage: compile FILE, with a stage in its name, such as sky.vert or sky.frag.hlsl");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(&path).expect("the source is readable");
    let source = Source { path: &path, text: &text, language, stage, entry: "main" };
    let options = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };
    match compile(&source, &options, &mut Files) {
        Ok(module) => {
            module.warnings.iter().for_each(|warning| eprintln!("{warning}"));
            println!("{} bytes of SPIR-V", module.bytes().len());
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
