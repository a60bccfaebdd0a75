//! The `fault-injection` executable: runs the suites against Kiln's executables and prints one line per suite.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod run {
    use kiln_fault_injection::faults::case::{quiet_panics, run_suite};
    use kiln_fault_injection::faults::report::Failure;
    use kiln_fault_injection::faults::tool::Tools;
    use kiln_fault_injection::faults::{SUITES, Setup, resource_usage};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;

    const USAGE: &str = "\
Inject faults into Kiln's executables and check that they recover.

Usage: fault-injection [OPTIONS]

  --short          Run a subset that takes less than two minutes
  --only SUITE     Run only this suite (repeatable)
  --case NAME      Run only this case of the suite
  --seed N         Seed of the random number generator [default: 1]
  --tools DIR      Directory of assetc, pak and unity-assetdb [default: the directory of this executable]
  --work-dir DIR   Parent directory of the test directories [default: /dev/shm, or the temporary directory]
  --json           Print one JSON object instead of lines
  --list           List the suites

Exit codes: 0 all cases passed; 1 a case failed; 2 usage error; 3 all cases passed, but a suite could not be run.
";

    struct Args {
        short: bool,
        json: bool,
        only: Vec<String>,
        case: Option<String>,
        seed: u64,
        tools: Option<PathBuf>,
        work_dir: Option<PathBuf>,
    }

    fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
        let mut parsed = Args {
            short: false,
            json: false,
            only: vec![],
            case: None,
            seed: 1,
            tools: None,
            work_dir: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} requires a value"));
            match arg.as_str() {
                "--short" => parsed.short = true,
                "--json" => parsed.json = true,
                "--only" => parsed.only.push(value()?),
                "--case" => parsed.case = Some(value()?),
                "--seed" => parsed.seed = value()?.parse().map_err(|_| "--seed requires an integer")?,
                "--tools" => parsed.tools = Some(value()?.into()),
                "--work-dir" => parsed.work_dir = Some(value()?.into()),
                "--list" | "--help" => return Ok(None),
                _ => return Err(format!("unknown option {arg}")),
            }
        }
        match parsed.only.iter().find(|only| SUITES.iter().all(|suite| suite.name != only.as_str())) {
            Some(unknown) => Err(format!("unknown suite {unknown}; run with --list to see all suites")),
            None => Ok(Some(parsed)),
        }
    }

    fn print_line(text: &str) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    pub(crate) fn main() -> ExitCode {
        let mut args = std::env::args().skip(1).peekable();
        if args.peek().map(String::as_str) == Some(resource_usage::MEASURED) {
            return resource_usage::run_measured(args.skip(1));
        }
        match parse(args) {
            Ok(Some(args)) => run_suites(&args),
            Ok(None) => {
                let suites: Vec<String> =
                    SUITES.iter().map(|suite| format!("  {:<20} {}", suite.name, suite.summary)).collect();
                print_line(&format!("{USAGE}\nSuites:\n{}", suites.join("\n")));
                ExitCode::SUCCESS
            }
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "{why}\n\n{USAGE}");
                ExitCode::from(2)
            }
        }
    }

    fn run_suites(args: &Args) -> ExitCode {
        let setup = match set_up(args) {
            Ok(setup) => setup,
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "{why}");
                return ExitCode::from(2);
            }
        };
        quiet_panics();
        let mut tallies = Vec::new();
        let selected = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
        for suite in SUITES.iter().filter(|suite| selected(suite.name)) {
            let report_failure = |failure: &Failure| {
                let reproduce = format!(
                    "fault-injection --only {} --case '{}' --seed {}{}",
                    suite.name,
                    failure.case,
                    setup.seed,
                    if setup.short { " --short" } else { "" }
                );
                let Failure { case, why, dir } = failure;
                let _ = writeln!(
                    std::io::stderr(),
                    "FAILED {} {case}\n  {}\n  directory: {}\n  reproduce: {reproduce}",
                    suite.name,
                    why.replace('\n', "\n  "),
                    dir.display()
                );
            };
            let tally = run_suite(suite, &setup, args.case.as_deref(), &report_failure);
            if !args.json {
                print_line(&tally.line());
            }
            tallies.push(tally);
        }
        if args.json {
            let suites: Vec<String> = tallies.iter().map(|tally| tally.json()).collect();
            print_line(&format!("{{\"short\":{},\"suites\":[\n{}\n]}}", args.short, suites.join(",\n")));
        }
        if !tallies.iter().all(|tally| tally.failures.is_empty()) {
            return ExitCode::from(1);
        }
        let _ = std::fs::remove_dir_all(&setup.work_dir);
        ExitCode::from(if tallies.iter().all(|tally| tally.not_run.is_none()) { 0 } else { 3 })
    }

    fn set_up(args: &Args) -> Result<Setup, String> {
        let here = std::env::current_exe().map_err(|e| e.to_string())?;
        let beside = here.parent().unwrap_or(Path::new(".")).to_path_buf();
        let memory = Path::new("/dev/shm");
        let parent = match &args.work_dir {
            Some(dir) => dir.clone(),
            None if memory.is_dir() => memory.to_path_buf(),
            None => std::env::temp_dir(),
        };
        let work_dir = parent.join(format!("kiln-fault-injection-{}", std::process::id()));
        std::fs::create_dir_all(&work_dir)
            .map_err(|e| format!("cannot create {}: {e}", work_dir.display()))?;
        let work_dir = work_dir.canonicalize().map_err(|e| e.to_string())?;
        let tools = Tools::copied(args.tools.as_deref().unwrap_or(&beside), &work_dir.join("tools"))?;
        let showcase = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/showcase");
        let showcase = showcase.is_dir().then_some(showcase);
        Ok(Setup { tools, seed: args.seed, short: args.short, work_dir, showcase })
    }
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "fault-injection requires Linux: it uses strace, symbolic links, named pipes and user ids"
    );
    ExitCode::from(2)
}
