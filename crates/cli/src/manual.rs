//! Shell completion scripts and manual pages, generated from the definition of a command line.

use crate::reporter::{OK, Reporter};
use crate::terminal::Out;
use clap::{Command, Subcommand};
use clap_complete::Shell;
use kiln_engine::{Code, Diag, Json};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// The documentation subcommands that every tool has.
#[derive(Debug, Subcommand)]
pub enum Manual {
    /// Generate a completion script for a shell
    Completions {
        /// Shell to generate the script for
        shell: Shell,
    },
    /// Print the manual page, or write the manual pages of all commands to a directory
    Man {
        /// Directory to write the manual pages to
        dir: Option<PathBuf>,
    },
}

impl Manual {
    /// Runs the subcommand for the command line of a tool and returns the exit code.
    ///
    /// # Errors
    ///
    /// `man` if the manual pages cannot be written.
    pub fn run(self, reporter: &Reporter, command: Command) -> Result<u8, Diag> {
        match self {
            Manual::Completions { shell } => completions(&mut reporter.out(), command, shell),
            Manual::Man { dir } => man(&mut reporter.out(), command, dir.as_deref(), reporter.json)?,
        }
        Ok(OK)
    }
}

/// Prints the completion script of a program.
fn completions(out: &mut Out, mut command: Command, shell: Shell) {
    let (mut script, name) = (Vec::new(), command.get_name().to_owned());
    clap_complete::generate(shell, &mut command, name, &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end());
}

/// Prints the manual page of a program, or writes one page for each subcommand to a directory.
fn man(out: &mut Out, command: Command, dir: Option<&Path>, json: bool) -> Result<(), Diag> {
    let pages = pages(command)
        .map_err(|e| Diag::new(Code::Man, format!("the manual pages cannot be generated: {e}")))?;
    let Some(dir) = dir else {
        if let Some((_, page)) = pages.first() {
            out.line(String::from_utf8_lossy(page).trim_end());
        }
        return Ok(());
    };
    let unwritable = |e: io::Error| {
        Diag::new(Code::Man, format!("cannot write the manual pages to {}: {e}", dir.display()))
            .hint("name a writable directory")
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    for (name, page) in &pages {
        std::fs::write(dir.join(name), page).map_err(unwritable)?;
    }
    let names = pages.iter().map(|(name, _)| name.as_str());
    if json {
        out.line(&Json::object([("written", Json::list(names))]).to_string());
    } else {
        names.for_each(|name| out.line(name));
    }
    Ok(())
}

/// Renders the manual pages of a program and its subcommands; returns file names and contents.
fn pages(mut command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut queue = VecDeque::from([command]);
    while let Some(command) = queue.pop_front() {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        queue.extend(command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned());
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}
