//! The files of `integrations/unity`: the commands of the GitHub Action and of the GitLab job run in a shell as the services
//! run them, the Git hook in a commit.

#![cfg(unix)]

use crate::project::{Project, finish, guid};
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn file(name: &str) -> String {
    std::fs::read_to_string(repository_root().join(name)).unwrap()
}

/// A branch that breaks a reference, and one that does not.
fn repository(breaks: bool) -> Project {
    let project = Project::sample();
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    project.init().branch("work");
    match breaks {
        true => project.remove("Assets/Art/Flag.png").remove("Assets/Art/Flag.png.meta"),
        false => project.asset("Assets/New.txt", 30, "", ""),
    };
    project
}

/// Runs a script of bash with `unity-assetdb` in PATH.
fn bash(project: &Project, script: &str, env: &[(&str, &str)]) -> crate::project::Run {
    let exe = Path::new(env!("CARGO_BIN_EXE_unity-assetdb")).parent().unwrap();
    let path = format!("{}:{}", exe.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-e", "-o", "pipefail", "-c", script]).current_dir(project.root()).env("PATH", path);
    finish(command.envs(env.iter().copied()).output().unwrap())
}

/// Returns the block of a literal scalar, `key: |`, without its indentation.
fn block(text: &str, key: &str) -> String {
    let mut lines = text.lines().skip_while(|line| line.trim() != format!("{key}: |"));
    let indent = lines.next().unwrap().find(key).unwrap();
    let inside = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
    lines.take_while(inside).map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn github_action_annotates_and_fails() {
    let script = block(&file("integrations/unity/action.yml"), "run");
    for breaks in [false, true] {
        let project = repository(breaks);
        project.commit("work");
        let env =
            [("INPUT_PROJECT", "."), ("INPUT_BASE", "main"), ("INPUT_DENY", ""), ("INPUT_BASELINE", "")];
        let run = bash(&project, &script, &env);
        assert_eq!(run.code, i32::from(breaks), "{}{}", run.out, run.err);
        assert_eq!(
            run.out.contains("::error file=Assets/Pole.prefab,line=8,title=unity-removed-asset::"),
            breaks,
            "{}",
            run.out
        );
        let whole = bash(
            &project,
            &script,
            &[("INPUT_PROJECT", "."), ("INPUT_BASE", ""), ("INPUT_DENY", "warnings"), ("INPUT_BASELINE", "")],
        );
        assert_eq!(whole.code, i32::from(breaks), "{}{}", whole.out, whole.err);
    }
}

#[test]
fn gitlab_job_checks_and_reviews() {
    let text = file("integrations/unity/gitlab-ci.yml");
    let lines = text.lines().skip_while(|line| line.trim() != "script:").skip(1);
    let script: String =
        lines.map_while(|line| line.trim().strip_prefix("- ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(script.lines().count(), 3);
    for breaks in [false, true] {
        let project = repository(breaks);
        project.commit("work");
        project.git(&["remote", "add", "origin", project.root().to_str().unwrap()]);
        let env = [("UNITY_PROJECT", "."), ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")];
        let run = bash(&project, &script, &env);
        assert_eq!(run.code, i32::from(breaks), "{}{}", run.out, run.err);
        if !breaks {
            let review = std::fs::read_to_string(project.root().join("unity-review.md")).unwrap();
            assert!(review.contains("### Added\n\n- Assets/New.txt"), "{review}");
        }
    }
}

#[test]
fn git_hook_refuses_broken_commits() {
    use std::os::unix::fs::PermissionsExt;
    for breaks in [false, true] {
        let project = repository(breaks);
        let hook = project.root().join(".git/hooks/pre-commit");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::copy(repository_root().join("integrations/unity/pre-commit"), &hook).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        let commit = "git add -A && git -c user.name=T -c user.email=t@example.com commit -q -m work";
        let run = bash(&project, commit, &[]);
        assert_eq!(run.code, i32::from(breaks), "{}{}", run.out, run.err);
        let said = format!("{}{}", run.out, run.err);
        assert_eq!(said.contains("unity-removed-asset"), breaks, "{said}");
        let commits = project.git(&["rev-list", "--count", "HEAD"]);
        assert_eq!(commits.trim() == "1", breaks);
    }
    // The entry of the pre-commit framework is the same command.
    let hooks = file(".pre-commit-hooks.yaml");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).unwrap();
    assert_eq!(bash(&repository(true), entry, &[]).code, 1);
}
