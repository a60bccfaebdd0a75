//! The readers of `asset-db.bin` in other languages return what the Rust reader returns. Each is tested where its runtime is
//! installed: Python 3; for C# `dotnet`, or `mcs` and `mono`.

#![cfg(feature = "bake")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use unity_assetdb::bake::{BakeOptions, bake};
use unity_assetdb::guid::Guid;
use unity_assetdb::store::{self, AssetType};

/// Bakes a project with every kind of row. Returns the database and the expected output of the readers.
fn database(root: &Path) -> (PathBuf, String) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::create_dir_all(root.join("ProjectSettings")).unwrap();
    write("Assets/Sheet.png", "");
    write(
        "Assets/Sheet.png.meta",
        "guid: 8f57b4a070f7b43bbb3925467e6752ab\nTextureImporter:\n  textureType: 8\n  spriteMode: 2\n  spriteSheet:\n    sprites:\n    - name: ü\"quoted\"\n      internalID: -4216859302048453862\n    - name: b\n      internalID: 77\n",
    );
    write(
        "Assets/Data.asset",
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: Data\n  m_Script: {fileID: 11500000, guid: 00000000000000000000000000001234, type: 3}\n",
    );
    write("Assets/Data.asset.meta", "guid: 000000000000000000000000000000fb\nNativeFormatImporter:\n");
    write("Assets/Deep/日本.mat", "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: x\n");
    write("Assets/Deep/日本.mat.meta", "guid: ffffffffffffffffffffffffffffff00\nNativeFormatImporter:\n");
    let out_dir = root.join("out");
    let options = BakeOptions {
        project_root: root.to_owned(),
        out_dir: out_dir.clone(),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    bake(&options).unwrap();
    let path = store::db_path(&out_dir);
    let db = store::read(&path).unwrap();
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut expected = String::new();
    for entry in &db.entries {
        let (class, script) = match entry.asset_type {
            AssetType::Native(class) => (class.to_string(), "null".to_owned()),
            AssetType::Script(at) => {
                ("null".to_owned(), quote(&Guid(db.script_types[at as usize]).to_string()))
            }
        };
        let subs: Vec<String> = entry
            .sub_assets
            .iter()
            .map(|sub| format!("[\"{}\",{},{}]", sub.file_id, sub.class_id, quote(&sub.name)))
            .collect();
        expected += &format!(
            "[\"{}\",{class},{script},{},[{}],{}]\n",
            Guid(entry.guid),
            quote(&entry.name),
            subs.join(","),
            quote(&entry.hint)
        );
    }
    assert_eq!(db.entries.len(), 3);
    (path, expected)
}

/// Says that a runtime is missing, so that a log shows what was not tested.
fn not_tested(why: &str) {
    let _ = writeln!(std::io::stderr(), "not tested: {why}");
}

fn reader(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("readers").join(name)
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn python_reader_agrees() {
    let dir = tempfile::tempdir().unwrap();
    let (db, expected) = database(dir.path());
    let python = |path: &Path| {
        Command::new("python3").arg(reader("asset_db.py")).arg(path).env("PYTHONUTF8", "1").output()
    };
    let Ok(output) = python(&db) else {
        return not_tested("python3 is not installed");
    };
    assert_eq!(text(output), expected);
    // Every prefix of the file is an error, not a crash or a wrong answer.
    let bytes = fs::read(&db).unwrap();
    let check = "import sys; sys.path.insert(0, sys.argv[1]); import asset_db\ndata = open(sys.argv[2], 'rb').read()\nfor end in range(len(data)):\n    try:\n        asset_db.decode(data[:end])\n    except asset_db.AssetDbError:\n        continue\n    raise SystemExit(f'{end} bytes were accepted')\n";
    let output = Command::new("python3").arg("-c").arg(check).arg(reader("")).arg(&db).output().unwrap();
    assert_eq!(text(output), "", "{} bytes", bytes.len());
}

/// The program that prints a database with the C# reader.
const PROGRAM: &str = r#"
static class Program
{
    static string Quote(string text) { return text == null ? "null" : "\"" + text.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\""; }

    static void Main(string[] args)
    {
        var output = new System.IO.StreamWriter(System.Console.OpenStandardOutput(), new System.Text.UTF8Encoding(false)) { NewLine = "\n" };
        foreach (var asset in UnityAssetDb.AssetDb.Read(args[0]).Assets)
        {
            var subs = new System.Collections.Generic.List<string>();
            foreach (var sub in asset.SubAssets) subs.Add("[\"" + sub.FileId + "\"," + sub.ClassId + "," + Quote(sub.Name) + "]");
            string kind = asset.ClassId.HasValue ? asset.ClassId.Value.ToString() : "null";
            output.WriteLine("[\"" + asset.Guid + "\"," + kind + "," + Quote(asset.Script) + "," + Quote(asset.Name) + ",[" + string.Join(",", subs) + "]," + Quote(asset.Path) + "]");
        }
        output.Flush();
    }
}
"#;

const PROJECT: &str = r#"<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net8.0</TargetFramework><RollForward>Major</RollForward></PropertyGroup></Project>"#;

#[test]
fn csharp_reader_agrees() {
    let dir = tempfile::tempdir().unwrap();
    let (db, expected) = database(dir.path());
    let program = dir.path().join("program");
    fs::create_dir(&program).unwrap();
    fs::write(program.join("Program.cs"), PROGRAM).unwrap();
    fs::copy(reader("AssetDb.cs"), program.join("AssetDb.cs")).unwrap();
    fs::write(program.join("program.csproj"), PROJECT).unwrap();
    if Command::new("dotnet").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let run = Command::new("dotnet").args(["run", "--project"]).arg(&program).arg("--").arg(&db).output();
        assert_eq!(text(run.unwrap()), expected);
    } else if Command::new("mcs").arg("--version").output().is_ok() {
        let exe = program.join("program.exe");
        let built = Command::new("mcs")
            .arg(format!("-out:{}", exe.display()))
            .args(["Program.cs", "AssetDb.cs"])
            .current_dir(&program)
            .output();
        text(built.unwrap());
        assert_eq!(text(Command::new("mono").arg(&exe).arg(&db).output().unwrap()), expected);
    } else {
        not_tested("neither dotnet nor mcs is installed");
    }
}
