//! `fault-injection`: attacks on the executables, one line per kind, with an exit code.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod run {
    use kiln_fault_injection::faults::case::{quiet_panics, run_row};
    use kiln_fault_injection::faults::report::Failure;
    use kiln_fault_injection::faults::tool::Tools;
    use kiln_fault_injection::faults::{ROWS, Setup, measured};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;

    const USAGE: &str = "\
Attacks Kiln's tools and says what held.

Usage: fault-injection [OPTIONS]

  --short        what is over within two minutes
  --only NAME    one kind of attack (may be given again)
  --case NAME    one case of it
  --seed N       what everything random is drawn from [default: 1]
  --tools DIR    where assetc, pak and unity-assetdb are [default: beside this executable]
  --room DIR     where cases get their directories [default: /dev/shm, or the directory for temporary files]
  --json         one JSON object in place of lines
  --list         the kinds of attacks

Exit codes: 0 everything held; 1 something did not; 2 usage; 3 what was run held, but not all could be run.
";

    struct Args {
        short: bool,
        json: bool,
        only: Vec<String>,
        case: Option<String>,
        seed: u64,
        tools: Option<PathBuf>,
        room: Option<PathBuf>,
    }

    fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
        let mut parsed =
            Args { short: false, json: false, only: vec![], case: None, seed: 1, tools: None, room: None };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            match arg.as_str() {
                "--short" => parsed.short = true,
                "--json" => parsed.json = true,
                "--only" => parsed.only.push(value()?),
                "--case" => parsed.case = Some(value()?),
                "--seed" => parsed.seed = value()?.parse().map_err(|_| "--seed wants a number")?,
                "--tools" => parsed.tools = Some(value()?.into()),
                "--room" => parsed.room = Some(value()?.into()),
                "--list" | "--help" => return Ok(None),
                _ => return Err(format!("{arg} is not known")),
            }
        }
        match parsed.only.iter().find(|only| ROWS.iter().all(|row| row.name != only.as_str())) {
            Some(unknown) => Err(format!("there is no kind of attack called {unknown}")),
            None => Ok(Some(parsed)),
        }
    }

    fn say(text: &str) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    pub(crate) fn main() -> ExitCode {
        let mut args = std::env::args().skip(1).peekable();
        if args.peek().map(String::as_str) == Some(measured::MEASURED) {
            return measured::measured(args.skip(1));
        }
        match parse(args) {
            Ok(Some(args)) => attack(&args),
            Ok(None) => {
                let rows: Vec<String> =
                    ROWS.iter().map(|row| format!("  {:<10} {}", row.name, row.what)).collect();
                say(&format!("{USAGE}\nKinds of attacks:\n{}", rows.join("\n")));
                ExitCode::SUCCESS
            }
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "{why}\n\n{USAGE}");
                ExitCode::from(2)
            }
        }
    }

    fn attack(args: &Args) -> ExitCode {
        let setup = match set_up(args) {
            Ok(setup) => setup,
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "{why}");
                return ExitCode::from(2);
            }
        };
        quiet_panics();
        let mut tallies = Vec::new();
        for row in ROWS.iter().filter(|row| args.only.is_empty() || args.only.iter().any(|o| o == row.name)) {
            let tell = |failure: &Failure| {
                let again = format!(
                    "fault-injection --only {} --case '{}' --seed {}{}",
                    row.name,
                    failure.case,
                    setup.seed,
                    if setup.short { " --short" } else { "" }
                );
                let Failure { case, why, dir } = failure;
                let _ = writeln!(
                    std::io::stderr(),
                    "FAILED {} {case}\n  {}\n  kept in {}\n  again: {again}",
                    row.name,
                    why.replace('\n', "\n  "),
                    dir.display()
                );
            };
            let tally = run_row(row, &setup, args.case.as_deref(), &tell);
            if !args.json {
                say(&tally.line());
            }
            tallies.push(tally);
        }
        if args.json {
            let rows: Vec<String> = tallies.iter().map(|tally| tally.json()).collect();
            say(&format!("{{\"short\":{},\"rows\":[\n{}\n]}}", args.short, rows.join(",\n")));
        }
        if !tallies.iter().all(|tally| tally.failures.is_empty()) {
            return ExitCode::from(1);
        }
        let _ = std::fs::remove_dir_all(&setup.room);
        ExitCode::from(if tallies.iter().all(|tally| tally.not_run.is_none()) { 0 } else { 3 })
    }

    fn set_up(args: &Args) -> Result<Setup, String> {
        let here = std::env::current_exe().map_err(|e| e.to_string())?;
        let beside = here.parent().unwrap_or(Path::new(".")).to_path_buf();
        let memory = Path::new("/dev/shm");
        let place = match &args.room {
            Some(room) => room.clone(),
            None if memory.is_dir() => memory.to_path_buf(),
            None => std::env::temp_dir(),
        };
        let room = place.join(format!("kiln-fault-injection-{}", std::process::id()));
        std::fs::create_dir_all(&room).map_err(|e| format!("{}: {e}", room.display()))?;
        let room = room.canonicalize().map_err(|e| e.to_string())?;
        let tools = Tools::copied(args.tools.as_deref().unwrap_or(&beside), &room.join("tools"))?;
        let showcase = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/showcase");
        let showcase = showcase.is_dir().then_some(showcase);
        Ok(Setup { tools, seed: args.seed, short: args.short, room, showcase })
    }
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "attacks need strace, links, pipes and users: run this on Linux");
    ExitCode::from(2)
}
