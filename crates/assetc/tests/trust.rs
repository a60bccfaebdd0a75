//! An untrusted project with the real executable: until the user trusts it, nothing outside the project is read or written,
//! no program that it names runs, and no credentials are sent to a server that it names.
#![cfg(unix)]

#[path = "cli/project.rs"]
#[allow(dead_code, reason = "shared with the other tests of assetc")]
mod project;
#[path = "../../remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the cache")]
mod server;

use project::{Project, Ran, test_image};
use server::Server;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

/// A cloned, untrusted project in a temporary directory, beside the home directory of the user.
struct Clone {
    dir: Project,
    vars: Vec<(String, String)>,
}

impl Clone {
    fn new(config: &str) -> Clone {
        let dir = Project::new();
        dir.write("game/assets/a.png", test_image(4, 4, 1)).write("game/assetc.yml", config);
        dir.write("home/secret/b.png", test_image(4, 4, 2));
        Clone { dir, vars: vec![] }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.root().canonicalize().unwrap().join(path)
    }

    fn config(&self, text: &str) -> &Clone {
        self.dir.write("game/assetc.yml", text);
        self
    }

    fn link(&self, target: &str, name: &str) -> &Clone {
        let _ = fs::remove_file(self.path(name));
        symlink(target, self.path(name)).unwrap();
        self
    }

    fn var(&mut self, name: &str, value: impl Into<String>) -> &mut Clone {
        self.vars.push((name.to_owned(), value.into()));
        self
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.dir.command(args);
        command.current_dir(self.path("game")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin").env("KILN_CACHE", "off");
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Returns all files outside the project, except the cache and configuration of the user.
    fn outside(&self) -> Vec<String> {
        fn collect(dir: &Path, out: &mut Vec<String>) {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    if !path.ends_with("game") && !path.ends_with(".cache") && !path.ends_with(".config") {
                        collect(&path, out);
                    }
                    continue;
                }
                out.push(format!("{} {:?}", path.display(), fs::read(&path).map(|bytes| bytes.len())));
            }
        }
        let mut found = vec![];
        collect(&self.path(""), &mut found);
        found.sort();
        found
    }

    /// Installs a program that creates a marker file when it runs, and writes no module.
    fn program(&self, path: &str) -> &Clone {
        let mark = self.path("ran");
        self.dir.write(path, format!("#!/bin/sh\necho \"$0\" >> '{}'\necho 1.0\n", mark.display()));
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        self.dir.write("game/assets/s.shader/vertex.slang", "float4 main() { return 0; }\n");
        self
    }

    /// Returns whether a program ran since the last call.
    fn ran(&self) -> bool {
        fs::remove_file(self.path("ran")).is_ok()
    }
}

/// The number of times that a diagnostic was printed.
fn count(ran: &Ran, code: &str) -> usize {
    ran.stderr.matches(&format!("[{code}]")).count()
}

#[test]
fn every_command_rejects_outputs_outside_the_project() {
    let p = Clone::new("");
    p.link("../home", "game/link").link("../new", "game/dangling").link("..", "game/up");
    fs::create_dir(p.path("game/.git")).unwrap();
    let home = p.path("home/out");
    let before = p.outside();
    let outputs = [
        "../home/.ssh",
        "sub/../../home/.ssh",
        home.to_str().unwrap(),
        "/tmp/kiln-trust-test",
        "link/x",
        "link",
        "dangling",
        "dangling/x",
        "up/x",
        "C:\\x",
        "c:/x",
        "\\x",
        "\\\\server\\share",
        "..\\x",
        ".git",
        ".git/hooks",
        ".GIT/hooks",
    ];
    for output in outputs {
        for config in [
            format!("output: '{output}'\nembed: '*'"),
            format!("preset: p\npresets: {{p: {{output: '{output}'}}}}"),
        ] {
            p.config(&config);
            for args in [&[][..], &["--pack"], &["clean"], &["info"], &["check"], &["report"], &["graph"]] {
                let ran = p.run(args).expect(2);
                assert_eq!(count(&ran, "untrusted-output"), 1, "{config} {args:?}: {}", ran.stderr);
                assert!(ran.stderr.contains("-o") && ran.stderr.contains("assetc trust"), "{}", ran.stderr);
                assert!(ran.stderr.contains("assetc.yml:"), "{}", ran.stderr);
            }
            assert_eq!(p.outside(), before, "{config}");
        }
    }
    assert!(!p.path("game/.git/hooks").exists());
}

#[test]
fn user_may_choose_output_outside_the_project() {
    let p = Clone::new("output: ../home/built\n");
    p.run(&[]).expect(2);
    p.run(&["-o", "../home/mine"]).expect(0);
    assert!(p.path("home/mine/a.ktx2").exists() && !p.path("home/built").exists());
    p.run(&["--trust"]).expect(0);
    assert!(p.path("home/built/a.ktx2").exists());
    p.run(&["--trust", "clean"]).expect(0);
    p.run(&[]).expect(2);
    p.run(&["trust"]).expect(0);
    p.run(&[]).expect(0);
    assert!(p.path("home/built/a.ktx2").exists());
    // An output that was added after the project was trusted.
    p.config("output: ../home/other\n").run(&[]).expect(2);
    assert!(!p.path("home/other").exists());
}

#[test]
fn changed_link_target_revokes_trust() {
    let p = Clone::new("output: link/built\n");
    p.link("../home", "game/link").run(&["trust"]).expect(0);
    p.run(&[]).expect(0);
    fs::create_dir(p.path("other")).unwrap();
    p.link("../other", "game/link").run(&[]).expect(2);
    assert!(!p.path("other/built").exists());
    fs::create_dir(p.path("game/within")).unwrap();
    p.link("within", "game/link").run(&[]).expect(0);
}

#[test]
fn does_not_read_inputs_outside_the_project() {
    let p = Clone::new("");
    p.link("../home/secret", "game/link");
    let secret = p.path("home/secret");
    for input in ["../home/secret", secret.to_str().unwrap(), "link", "link/.", "C:\\x", ".git"] {
        p.config(&format!("embed: '*'\ninput: '{input}'\n"));
        for args in [&[][..], &["explain", "b.png"]] {
            let ran = p.run(args).expect(2);
            assert_eq!(count(&ran, "untrusted-input"), 1, "{input}: {}", ran.stderr);
            assert!(ran.stderr.contains("assetc.yml:2:8: "), "{}", ran.stderr);
        }
        assert!(!p.path("game/runtime").exists(), "{input}");
    }
    // The default input directory may be a link, too, without a configuration file.
    fs::remove_file(p.path("game/assetc.yml")).unwrap();
    fs::remove_dir_all(p.path("game/assets")).unwrap();
    let ran = p.link("../home/secret", "game/assets").run(&[]).expect(2);
    assert_eq!(count(&ran, "untrusted-input"), 1, "{}", ran.stderr);
    p.run(&["trust"]).expect(0);
    p.run(&[]).expect(0);
    assert!(p.path("game/runtime/b.ktx2").exists());
}

#[test]
fn runs_programs_of_trusted_projects_only() {
    let mut p = Clone::new("tools:\n  slangc: sdk/slangc\n");
    p.program("game/sdk/slangc");
    for args in [&[][..], &["explain", "s.shader"], &["--list-presets"], &["cache", "stats"], &["--no-cache"]]
    {
        let ran = p.run(args);
        assert!(!p.ran(), "{args:?}: {}", ran.stderr);
    }
    let ran = p.run(&[]).expect(1);
    assert_eq!(count(&ran, "untrusted-tools"), 1, "{}", ran.stderr);
    for part in
        ["warning[untrusted-tools]: assetc.yml:2:11: tools.slangc", "assetc trust", "shader-tool-missing"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // Trusted for one run.
    let ran = p.run(&["--trust"]).expect(1);
    assert!(p.ran() && count(&ran, "untrusted-tools") == 0, "{}", ran.stderr);
    assert!(p.run(&[]).code == 1 && !p.ran());
    p.var("KILN_TRUST", "1");
    assert!(p.run(&[]).code == 1 && p.ran());
    p.var("KILN_TRUST", "perhaps");
    p.vars.remove(0);
    assert_eq!(count(&p.run(&[]).expect(2), "trust-variable"), 1);
    p.vars.clear();
    // Trusted permanently.
    let ran = p.run(&["trust"]).expect(0);
    assert!(ran.stdout.contains("tools.slangc: sdk/slangc") && !p.ran(), "{}", ran.stdout);
    let list = p.path("home/.config/kiln/trusted");
    assert_eq!(fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(p.run(&["trust", "--list"]).expect(0).stdout, format!("{}\n", p.path("game").display()));
    let ran = p.run(&[]).expect(1);
    assert!(p.ran() && count(&ran, "untrusted-tools") == 0, "{}", ran.stderr);
    // Inspection runs no programs, even in a trusted project.
    for args in
        [&["explain", "s.shader"][..], &["info"], &["check"], &["graph"], &["report"], &["cache", "stats"]]
    {
        p.run(args);
        assert!(!p.ran(), "{args:?}");
    }
    // Other settings may change; programs may not.
    p.config("default: {texture: {rdo: 1}}\ntools:\n  slangc: sdk/slangc\n").run(&[]);
    assert!(p.ran());
    for changed in ["tools: {slangc: sdk/../sdk/slangc}", "tools: {slangc: sdk/slangc, dxc: sdk/slangc}"] {
        let ran = p.config(changed).run(&[]).expect(1);
        assert!(!p.ran() && count(&ran, "untrusted-tools") == 1, "{changed}: {}", ran.stderr);
    }
    p.config("tools:\n  slangc: sdk/slangc\n").run(&[]);
    assert!(p.ran());
    // A copy elsewhere is another project.
    p.dir.write("copy/assetc.yml", "tools:\n  slangc: ../game/sdk/slangc\n");
    p.dir.write("copy/assets/s.shader/vertex.slang", "float4 main() { return 0; }\n");
    p.run(&["-C", "../copy"]).expect(1);
    assert!(!p.ran());
    // Trust is revoked.
    assert!(p.run(&["trust", "--revoke"]).expect(0).stdout.contains("no longer"));
    assert!(p.run(&[]).code == 1 && !p.ran());
    assert_eq!(p.run(&["trust", "--list"]).expect(0).stdout, "");
}

#[test]
fn ignores_world_writable_trust_list() {
    let p = Clone::new("tools: {slangc: sdk/slangc}\n");
    p.program("game/sdk/slangc").run(&["trust"]).expect(0);
    let list = p.path("home/.config/kiln/trusted");
    for mode in [0o620, 0o602] {
        fs::set_permissions(&list, fs::Permissions::from_mode(mode)).unwrap();
        let ran = p.run(&[]).expect(1);
        assert!(!p.ran() && count(&ran, "user-file-unsafe") == 1, "{}", ran.stderr);
        p.run(&["trust"]).expect(2);
    }
    fs::set_permissions(&list, fs::Permissions::from_mode(0o600)).unwrap();
    p.run(&[]).expect(1);
    assert!(p.ran());
}

#[test]
fn does_not_run_programs_inside_the_project() {
    let mut p = Clone::new("");
    p.program("game/bin/slangc");
    let inside = p.path("game/bin").display().to_string();
    for path in [&*inside, "bin", "./bin", "", ":"] {
        p.vars.clear();
        p.var("PATH", path);
        assert!(p.run(&[]).code == 1 && !p.ran(), "{path}");
        p.vars.clear();
        p.dir.write("game/sdk/bin/slangc", fs::read(p.path("game/bin/slangc")).unwrap());
        p.var("SLANG_DIR", "sdk").var("VULKAN_SDK", "sdk");
        assert!(p.run(&[]).code == 1 && !p.ran(), "a relative SDK");
    }
    // Outside the project.
    p.vars.clear();
    p.program("sdk/bin/slangc");
    let sdk = p.path("sdk").display().to_string();
    p.var("SLANG_DIR", &*sdk);
    assert!(p.run(&[]).code == 1 && p.ran());
    p.vars.clear();
    p.dir.write("home/.config/kiln/config.yml", format!("tools:\n  slangc: {sdk}/bin/slangc\n"));
    assert!(p.run(&[]).code == 1 && p.ran());
    // A wrong value is an error with its place, an unknown key a warning.
    p.dir.write("home/.config/kiln/config.yml", "tools:\n  slangc: bin/slangc\n");
    let ran = p.run(&[]).expect(2);
    assert!(
        ran.stderr.contains("error[config-bad-value]: ") && ran.stderr.contains("config.yml:2:11: "),
        "{}",
        ran.stderr
    );
    p.dir.write("mine/config.yml", "tool: {}\n");
    let mine = p.path("mine").display().to_string();
    p.var("KILN_CONFIG_DIR", mine);
    assert_eq!(count(&p.run(&[]), "config-unknown-key"), 1);
}

#[test]
fn explain_assumes_the_version_of_the_last_build() {
    let mut p = Clone::new("");
    p.dir.write(
        "game/assets/v.shader/v.wgsl",
        "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }",
    );
    p.run(&[]).expect(0);
    let module = p.path("game/runtime/v.shader/vertex.spv");
    let script = format!(
        "#!/bin/sh\necho ran >> '{}'\n[ \"$1\" = -v ] && {{ echo 7; exit; }}\n\
         while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\ncat '{}' > \"$out\"\n",
        p.path("ran").display(),
        module.display()
    );
    p.program("sdk/slangc").dir.write("sdk/slangc", script);
    let sdk = p.path("sdk").display().to_string();
    p.var("PATH", format!("{sdk}:/usr/bin:/bin")).run(&[]).expect(0);
    assert!(p.ran());
    let ran = p.run(&["explain", "s.shader"]).expect(0);
    assert!(
        !p.ran() && ran.stdout.contains("up to date, assuming the version of slangc is unchanged"),
        "{}",
        ran.stdout
    );
    let json = p.run(&["explain", "--json", "s.shader"]).expect(0).json();
    assert!(!p.ran() && json["stale"].is_null() && json["assumed"][0] == "slangc", "{json}");
    p.dir.write("game/assets/s.shader/vertex.slang", "float4 main() { return 1; }\n");
    let ran = p.run(&["explain", "s.shader"]).expect(0);
    assert!(!p.ran() && ran.stdout.contains("next build: rebuild ("), "{}", ran.stdout);
}

/// A cache directory outside the project that has files of the user.
#[test]
fn ignores_cache_outside_the_project_until_trusted() {
    let mut p = Clone::new("");
    p.var("KILN_CACHE", "on");
    p.link("../home", "game/link");
    let home = p.path("home/c");
    let before = p.outside();
    for dir in ["../home/c", home.to_str().unwrap(), "link/c", "C:\\c", "\\c", ".git/c"] {
        let ran = p.config(&format!("cache:\n  dir: '{dir}'\n")).run(&["--no-cache"]).expect(0);
        assert_eq!(count(&ran, "untrusted-cache"), 1, "{dir}: {}", ran.stderr);
        assert!(ran.stderr.contains("assetc.yml:2:8: cache.dir"), "{}", ran.stderr);
        assert!(p.path("home/.cache/kiln/CACHEDIR.TAG").exists());
    }
    assert_eq!(p.outside(), before);
    let ran = p.config("cache:\n  dir: c\n").run(&["--no-cache"]).expect(0);
    assert!(count(&ran, "untrusted-cache") == 0 && p.path("game/c/CACHEDIR.TAG").exists(), "{}", ran.stderr);
    // A size limit that would evict the cache entries of all other projects.
    let ran = p.config("cache: {max_size: 1}\n").run(&["cache", "gc"]).expect(0);
    assert!(count(&ran, "untrusted-cache") == 1 && ran.stdout.contains("removed 0 files"), "{ran:?}");
    p.config("cache:\n  dir: ../home/c\n").run(&["trust"]).expect(0);
    p.run(&["--no-cache"]).expect(0);
    assert!(p.path("home/c/CACHEDIR.TAG").exists());
}

#[test]
fn sends_credentials_only_to_servers_of_the_user() {
    for (name, value) in [("KILN_CACHE_TOKEN", "hush"), ("KILN_CACHE_USER", "me")] {
        let server = Server::start();
        let host = server.url().replace("http://", "").split('/').next().unwrap().to_owned();
        let mut p = Clone::new(&format!("cache:\n  url: {}\n  policy: write\n", server.url()));
        p.var("KILN_CACHE", "on").var(name, value).var("KILN_CACHE_PASSWORD", "hush").var("CI", "true");
        let ran = p.run(&["--no-cache"]).expect(0);
        assert_eq!(count(&ran, "untrusted-credentials"), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("assetc.yml:2:8: ") && ran.stderr.contains("credential_hosts"),
            "{}",
            ran.stderr
        );
        assert!(server.authorizations().is_empty(), "credentials were sent");
        assert!(server.kept().is_empty(), "results were sent");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hush"));
        p.run(&[]).expect(0);
        fs::remove_dir_all(p.path("game/runtime")).unwrap();
        fs::remove_dir_all(p.path("home/.cache")).unwrap();
        p.run(&[]).expect(0);
        assert!(server.requests() > 0 && server.authorizations().is_empty());
        // A host that the user's configuration names for credentials.
        p.dir.write("home/.config/kiln/config.yml", format!("cache: {{credential_hosts: ['{host}']}}\n"));
        fs::remove_dir_all(p.path("game/runtime")).unwrap();
        fs::remove_dir_all(p.path("home/.cache")).unwrap();
        let ran = p.run(&[]).expect(0);
        assert!(
            count(&ran, "untrusted-credentials") == 0 && !server.authorizations().is_empty(),
            "{}",
            ran.stderr
        );
        assert!(server.kept().is_empty(), "results were sent");
    }
}

#[test]
fn isolates_results_of_untrusted_servers() {
    let server = Server::start();
    let config = format!("cache:\n  url: {}\n", server.url());
    let mut p = Clone::new(&config);
    p.var("KILN_CACHE", "on").var("KILN_CACHE_TOKEN", "hush");
    // The author of the project fills the server.
    p.run(&["--trust", "--no-cache", "--json"]).expect(0);
    p.var("KILN_CACHE_POLICY", "write").run(&["--trust", "--no-cache"]).expect(0);
    assert!(!server.kept().is_empty() && !server.authorizations().is_empty());
    p.vars.retain(|(name, _)| name != "KILN_CACHE_POLICY");
    let forget = |p: &Clone| {
        fs::remove_dir_all(p.path("game/runtime")).unwrap();
        let _ = fs::remove_dir_all(p.path("home/.cache"));
    };
    forget(&p);
    let fetched = |p: &Clone, args: &[&str]| p.run(args).expect(0).json()["fetched"].as_u64().unwrap();
    assert_eq!(fetched(&p, &["--json"]), 1);
    assert!(p.path("home/.cache/kiln/untrusted").is_dir());
    // The same project hits the cache again; a project that does not name the server misses.
    fs::remove_dir_all(p.path("game/runtime")).unwrap();
    assert_eq!(fetched(&p, &["--json"]), 1);
    p.config("");
    fs::remove_dir_all(p.path("game/runtime")).unwrap();
    assert_eq!(fetched(&p, &["--json"]), 0);
    // A trusted project shares its results.
    p.config(&config).run(&["trust"]).expect(0);
    forget(&p);
    assert_eq!(fetched(&p, &["--json"]), 1);
    p.config("");
    fs::remove_dir_all(p.path("game/runtime")).unwrap();
    assert_eq!(fetched(&p, &["--json"]), 1);
}

#[test]
fn unencrypted_connections_require_user_consent() {
    let mut p = Clone::new("cache: {url: 'http://192.0.2.1:9', allow_http: true}\n");
    p.var("KILN_CACHE", "on");
    let ran = p.run(&["cache", "stats"]).expect(0);
    assert_eq!(count(&ran, "untrusted-cache"), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("KILN_CACHE_ALLOW_HTTP=1") && ran.stderr.contains("assetc trust"),
        "{}",
        ran.stderr
    );
    p.var("KILN_CACHE_ALLOW_HTTP", "1");
    assert_eq!(count(&p.run(&["cache", "stats"]).expect(0), "untrusted-cache"), 0);
    p.vars.pop();
    p.dir.write("home/.config/kiln/config.yml", "cache: {allow_http: true}\n");
    assert_eq!(count(&p.run(&["cache", "stats"]).expect(0), "untrusted-cache"), 0);
    fs::remove_file(p.path("home/.config/kiln/config.yml")).unwrap();
    assert_eq!(count(&p.run(&["--trust", "cache", "stats"]).expect(0), "untrusted-cache"), 0);
    p.config("");
    p.var("KILN_CACHE_URL", "http://192.0.2.1:9");
    let ran = p.run(&["cache", "stats"]).expect(2);
    assert!(
        count(&ran, "cache-address") == 1 && ran.stderr.contains("KILN_CACHE_ALLOW_HTTP=1"),
        "{}",
        ran.stderr
    );
}

#[test]
fn does_not_contact_buckets_of_untrusted_projects() {
    let mut p = Clone::new("");
    p.var("KILN_CACHE", "on").var("AWS_ACCESS_KEY_ID", "hush").var("AWS_SECRET_ACCESS_KEY", "hush");
    for url in ["s3://untrusted/x", "gs://untrusted", "az://untrusted"] {
        let ran = p.config(&format!("cache: {{url: '{url}'}}\n")).run(&["cache", "stats"]).expect(0);
        assert_eq!(count(&ran, "untrusted-credentials"), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("credential_hosts"), "{}", ran.stderr);
    }
}

#[test]
fn trust_lists_admitted_settings() {
    let p = Clone::new(
        "tools: {slangc: s}\noutput: ../out\ncache: {url: 'https://h', dir: ../c}\ninput: ../in\n",
    );
    let ran = p.run(&["trust", "--json"]).expect(0).json();
    let keys: Vec<&str> =
        ran["settings"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["tools.slangc", "cache.url", "cache.dir", "input", "output"]);
    assert!(ran["trusted"] == true && ran["settings"][0]["at"] == "1:17", "{ran}");
    let listed = p.run(&["trust", "--list", "--json"]).expect(0).json();
    assert_eq!(listed["projects"][0], p.path("game").display().to_string());
    assert_eq!(p.run(&["trust", "--revoke", "--json"]).expect(0).json()["revoked"], true);
    assert_eq!(p.run(&["trust", "--revoke", "--json"]).expect(0).json()["revoked"], false);
    let plain = p.config("default: {texture: {rdo: 1}}\n").run(&["trust"]).expect(0);
    assert!(plain.stdout.contains("no setting that requires trust"), "{}", plain.stdout);
    // Control characters are escaped.
    let ran = p.config("tools: {slangc: \"a\\e[2Jb\"}\n").run(&["trust"]).expect(0);
    assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
}

/// A configuration file of another user above the working directory. Only root can create one.
#[test]
fn configuration_of_another_user_is_restricted() {
    let server = Server::start();
    let mut p = Clone::new(&format!("cache:\n  url: {}\n", server.url()));
    p.var("KILN_CACHE", "on");
    let config = p.path("game/assetc.yml");
    if std::os::unix::fs::chown(&config, Some(12345), None).is_err() {
        return;
    }
    let ran = p.run(&["-C", "assets"]).expect(0);
    assert_eq!(count(&ran, "untrusted-cache"), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("another user") && server.requests() == 0, "{}", ran.stderr);
    assert!(p.path("game/runtime/a.ktx2").exists(), "its other settings apply");
    fs::set_permissions(p.path("game"), fs::Permissions::from_mode(0o1777)).unwrap();
    let ran = p.run(&["-C", "assets"]).expect(2);
    assert_eq!(count(&ran, "untrusted-owner"), 1, "{}", ran.stderr);
    p.run(&["trust"]).expect(0);
    let ran = p.run(&["-C", "assets", "--no-cache"]).expect(0);
    assert_eq!(count(&ran, "untrusted-cache"), 0, "{}", ran.stderr);
}
