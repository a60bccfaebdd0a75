//! The programs of each table, with their arguments.

use crate::rivals::Rivals;
use std::path::Path;

/// Every table, in the order they are run: the longest last.
pub const NAMES: [&str; 12] = [
    "warm", "tiny", "cold", "stages", "store", "mesh", "unity", "pak", "pak-real", "bc7", "classes", "uastc",
];

/// Inputs of a table run.
pub struct Setting<'a> {
    /// `images/`, `gltf/` and `unity/` are below it.
    pub data: Option<&'a Path>,
    /// The repository.
    pub root: &'a Path,
    /// An empty folder, which is removed afterwards.
    pub scratch: &'a Path,
    /// The least that shows that it runs.
    pub quick: bool,
    pub rivals: &'a Rivals,
}

/// The packages whose executables a table needs, and the tools themselves for the first three.
pub fn packages(table: &str) -> &'static [&'static str] {
    match table {
        "warm" | "tiny" | "store" => &["bench-assetc"],
        "cold" => &["bench-assetc", "uastc-bench"],
        "stages" => &["bench-stages"],
        "mesh" => &["mesh-bench"],
        "unity" => &["bench-unity"],
        "pak" | "pak-real" => &["bench-pak", "bench-pak-rival"],
        "bc7" => &["bc7-bench"],
        _ => &["uastc-bench"],
    }
}

/// The profile that a package is built with, which is also the folder of its executables.
pub fn profile(package: &str) -> &'static str {
    match package {
        "bc7-bench" | "mesh-bench" | "uastc-bench" => "lto",
        _ => "release",
    }
}

/// The programs of a table with their arguments, and what is missing for want of data.
pub fn programs(table: &str, with: &Setting) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    let mut run = |words: &[&str]| programs.push(words.iter().map(|&word| word.to_owned()).collect());
    let pick = |full: &'static str, quick: &'static str| if with.quick { quick } else { full };
    let data = |folder: &str| with.data.map(|data| data.join(folder)).filter(|folder| folder.is_dir());
    let text = |path: &Path| path.display().to_string();
    let showcase = text(&with.root.join("examples/showcase/assets"));
    match table {
        "warm" if with.quick => run(&["bench-assetc", "warm", "3", "100", "300"]),
        "warm" => run(&["bench-assetc", "warm", "15", "1000", "10000", "100000"]),
        "tiny" => run(&["bench-assetc", "tiny", pick("5", "1"), pick("10000", "100")]),
        "cold" => {
            let mut words = vec!["bench-assetc".to_owned(), "cold".to_owned(), pick("3", "1").to_owned()];
            words.push(format!("showcase={showcase}"));
            match data("gltf") {
                Some(models) => words.push(format!("sample models={}", text(&models))),
                None => missing.push("the sample models (no gltf/ in the data)".to_owned()),
            }
            match data("images") {
                Some(images) => words.push(format!("photographs*{}={}", pick("1,2,4", "1"), text(&images))),
                None => {
                    missing.push("the photographs, and with them basisu (no images/ in the data)".to_owned())
                }
            }
            run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        "store" => match data("gltf").filter(|_| !with.quick) {
            Some(models) => run(&[
                "bench-assetc",
                "store",
                "5",
                &format!("sample models={}", text(&models)),
                &format!("showcase={showcase}"),
            ]),
            None => {
                missing.push("the sample models (no gltf/ in the data)".to_owned());
                run(&["bench-assetc", "store", pick("5", "1"), &format!("showcase={showcase}")]);
            }
        },
        "mesh" => {
            let none = with.scratch.join("no-models");
            let models = data("gltf").unwrap_or_else(|| {
                missing.push("the sample models (no gltf/ in the data)".to_owned());
                none
            });
            let mut words = vec!["mesh-bench".to_owned(), pick("all", "quick").to_owned(), text(&models)];
            words.extend(with.rivals.gltfpack.iter().cloned());
            run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            missing.extend(with.rivals.missing.iter().cloned());
        }
        "unity" => {
            let sizes =
                if with.quick { [("400", "1"), ("800", "1")] } else { [("16000", "7"), ("200000", "3")] };
            for ((assets, runs), name) in sizes.into_iter().zip(["unity-small", "unity-large"]) {
                let project = text(&with.scratch.join(assets));
                run(&["bench-unity", "gen", &project, assets]);
                run(&["bench-unity", "speed", &project, runs, name]);
            }
            let projects = ["mrtk", "solar-system"].map(|name| data("unity").map(|unity| unity.join(name)));
            match projects {
                [Some(a), Some(b)] if a.is_dir() && b.is_dir() => {
                    run(&["bench-unity", "quality", &text(&a), &text(&b)])
                }
                _ => missing.push("how right it is (no unity/ in the data)".to_owned()),
            }
        }
        "pak" => run(&["bench-pak", pick("all", "quick"), &text(&with.scratch.join("pak"))]),
        "pak-real" => match with.data {
            None => missing.push("the corpus of real files (no data)".to_owned()),
            Some(data) => {
                let folder = text(&with.scratch.join("pak-real"));
                run(&["bench-pak", pick("real", "real-quick"), &text(data), &folder]);
            }
        },
        _ => match with.data {
            None => missing.push("everything (no data)".to_owned()),
            Some(data) if table == "stages" => run(&["bench-stages", &text(data), pick("7", "1")]),
            Some(data) if table == "bc7" => {
                run(&["bc7-bench", "--data", &text(data), pick("slow", "quick"), pick("3", "1")])
            }
            Some(data) if table == "classes" => {
                run(&["classes", "--data", &text(data), pick("--files", "--quick")])
            }
            Some(data) if with.quick => run(&["uastc-bench", "--data", &text(data), "quick"]),
            Some(data) => {
                run(&["uastc-bench", "--data", &text(data), "rdo", "cpp"]);
                run(&["threads", "--data", &text(data)]);
            }
        },
    }
    (programs, missing)
}
