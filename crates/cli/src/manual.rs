//! Completion scripts and manual pages, made from the definitions of a command line.

use crate::terminal::Out;
use crate::voice::{OK, Voice};
use clap::{Command, Subcommand};
use clap_complete::Shell;
use kiln_engine::{Code, Diag, Json};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// The commands that every tool has.
#[derive(Debug, Subcommand)]
pub enum Manual {
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory
    Man {
        /// Where to write them
        dir: Option<PathBuf>,
    },
}

impl Manual {
    /// Runs it for a command line.
    pub fn run(self, voice: &Voice, command: Command) -> Result<u8, Diag> {
        match self {
            Manual::Completions { shell } => completions(&mut voice.out(), command, shell),
            Manual::Man { dir } => man(&mut voice.out(), command, dir.as_deref(), voice.json)?,
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

/// Prints the page of a program, or writes its pages, one for each command, to a directory.
fn man(out: &mut Out, command: Command, dir: Option<&Path>, json: bool) -> Result<(), Diag> {
    let pages = pages(command).map_err(|e| Diag::new(Code::Man, format!("the pages cannot be made: {e}")))?;
    let Some(dir) = dir else {
        if let Some((_, page)) = pages.first() {
            out.line(String::from_utf8_lossy(page).trim_end());
        }
        return Ok(());
    };
    let wrong = |e: io::Error| {
        Diag::new(Code::Man, format!("cannot write to {}: {e}", dir.display()))
            .hint("name a directory to write to")
    };
    std::fs::create_dir_all(dir).map_err(wrong)?;
    for (name, page) in &pages {
        std::fs::write(dir.join(name), page).map_err(wrong)?;
    }
    let names = pages.iter().map(|(name, _)| name.as_str());
    if json {
        out.line(&Json::object([("written", Json::list(names))]).to_string());
    } else {
        names.for_each(|name| out.line(name));
    }
    Ok(())
}

/// The page of a program and those of its commands, by file name.
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
