//! Configurations and descriptions in YAML and TOML: alias expansion, deep nesting, huge patterns.

use super::{Bomb, aliases, bake, build, content, one};

/// A function that generates a large text on demand.
type Text = fn() -> String;

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    let config = |name: &str, text: fn() -> String| {
        let files = Box::new(move || one("assetc.yml", text()));
        Bomb { name: name.to_owned(), tool: "assetc", runs: vec![vec!["-q"]], files, rejected: true }
    };
    all.push(config("configuration with YAML alias expansion", || format!("{}default: *a29\n", aliases())));
    all.push(config("configuration of 200,000 nested lists", || format!("default: {}", "[".repeat(200_000))));
    all.push(config("configuration of 200,000 nested maps", || {
        format!("default: {}", "{a: ".repeat(200_000))
    }));
    all.push(config("configuration of 200,000 nested dashes", || {
        format!("default:\n  {}x\n", "- ".repeat(200_000))
    }));
    all.push(config("configuration of 100 MB", || "# x\n".repeat(25 << 20)));
    all.push(config("configuration with a pattern that backtracks", || {
        format!(
            "default: {{rules: [{{match: \"{}\", texture: {{compress: false}}}}]}}\n",
            "*a".repeat(200_000)
        )
    }));
    all.push(build("material with YAML alias expansion", "x.mat", || {
        format!("{}name: *a29\n", aliases()).into_bytes()
    }));
    all.push(build("material of 200,000 nested lists", "x.mat", || {
        format!("textures: {}", "[".repeat(200_000)).into_bytes()
    }));
    let nested: [(&str, Text); 6] = [
        ("200,000 nested lists", || format!("[content]\nx = {}", "[".repeat(200_000))),
        ("200,000 nested tables", || format!("[content]\nx = {}", "{a=".repeat(200_000))),
        ("a key of 200,000 parts", || format!("[content]\n{}a = 1\n", "a.".repeat(200_000))),
        ("a table of 200,000 parts", || format!("[{}a]\n", "a.".repeat(200_000))),
        ("100,000 groups", || {
            "[content]\n".to_owned() + &"[[content.group]]\nassets = ['x']\n".repeat(100_000)
        }),
        ("a pattern of 100,000 stars", || {
            format!("[content]\n[[content.group]]\nassets = ['{}']\n", "**/".repeat(100_000))
        }),
    ];
    for (what, text) in nested {
        all.push(bake(&format!("content file of {what}"), move || one("pak.toml", text())));
        let mut description = bake(&format!("description of {what}"), move || {
            let mut files = content("x.toml");
            files.insert(
                "x.toml".into(),
                text().replace("[content]", "[material]").replace("content.", "material.").into_bytes(),
            );
            files
        });
        // Unknown fields of a description are ignored with a warning.
        description.rejected = !text().contains("content.group");
        all.push(description);
    }
    all.push(bake("scene of a million references", || {
        let mut files = content("x.toml");
        files.insert(
            "x.toml".into(),
            ("[scene]\n".to_owned() + &"[[scene.ref]]\nid = 'a'\nmesh = 'none.glb'\n".repeat(100_000)).into(),
        );
        files
    }));
}
