//! The globs that select sources, `exclude`, `embed` and the `match` of rules, and the warnings about those that select
//! nothing.

use kiln_config::yaml::At;
use kiln_engine::glob::{Dialect, Glob, GlobError};
use kiln_engine::{Code, Diag};

use super::resolve::{Resolved, Resolver};

/// A glob of source paths with its position in the file.
#[derive(Clone, Debug)]
pub(super) struct SourceGlob {
    pub(super) glob: Glob,
    /// The key, such as `default.rules[0].match`.
    place: String,
    at: At,
}

impl SourceGlob {
    pub(super) fn new(pattern: &str, place: &str, at: At) -> Result<SourceGlob, GlobError> {
        Ok(SourceGlob { glob: Glob::new(pattern, Dialect::Assetc)?, place: place.to_owned(), at })
    }

    /// Makes a glob of `exclude`. A trailing slash, which marks directories in other tools, is ignored: a directory
    /// matches without it.
    pub(super) fn exclude(pattern: &str, place: &str, at: At) -> Result<SourceGlob, GlobError> {
        let directory = pattern.strip_suffix('/').filter(|name| !name.is_empty());
        SourceGlob::new(directory.unwrap_or(pattern), place, at)
    }

    /// Returns the warning about `**`, which has a meaning of its own in other dialects only.
    pub(super) fn double_star(&self) -> Option<Diag> {
        let pattern = self.glob.pattern();
        let message = format!("'**' in the glob \"{pattern}\" of {} means the same as '*'", self.place);
        let hint = "write '*', which spans '/'; '**/' does not match zero directories";
        pattern.contains("**").then(|| Diag::new(Code::ConfigGlobSyntax, message).at(self.at).hint(hint))
    }

    /// Returns the description of the glob for messages: `exclude "wip/*"`.
    pub(super) fn describe(&self) -> String {
        format!("{} \"{}\"", self.place, self.glob.pattern())
    }

    fn unmatched(&self) -> Diag {
        let pattern = self.glob.pattern();
        let hint = match pattern.find(['[', '{']) {
            Some(_) => {
                "'[', ']', '{' and '}' match themselves; write one glob per alternative, or use '*' and '?'"
            }
            None => "a glob matches the whole path below the input directory, and case counts",
        };
        let message = format!("the glob \"{pattern}\" of {} matches no source", self.place);
        Diag::new(Code::ConfigGlobUnmatched, message).at(self.at).hint(hint)
    }
}

/// Applies the globs of a configuration to the sources of a tree, and records which of them match.
pub struct SourceSelection<'r> {
    resolver: &'r Resolver,
    exclude: Vec<bool>,
    embed: Vec<bool>,
    rules: Vec<bool>,
}

impl<'r> SourceSelection<'r> {
    /// Makes a selection in which no glob has matched.
    pub fn new(resolver: &'r Resolver) -> SourceSelection<'r> {
        SourceSelection {
            resolver,
            exclude: vec![false; resolver.exclude.len()],
            embed: vec![false; resolver.embed.len()],
            rules: vec![false; resolver.rules.len()],
        }
    }

    /// Returns whether a file or directory matches `exclude:`.
    pub fn excludes(&mut self, path: &str) -> bool {
        let excluded = mark(&self.resolver.exclude, path, &mut self.exclude);
        if excluded {
            // Rules and `embed` that select sources which only this preset excludes are not useless.
            self.embeds(path);
            self.resolve(path);
        }
        excluded
    }

    /// Returns whether a file matches `embed:`.
    pub fn embeds(&mut self, path: &str) -> bool {
        mark(&self.resolver.embed, path, &mut self.embed)
    }

    /// Resolves the settings of a source; see [`Resolver::resolve`].
    pub fn resolve(&mut self, path: &str) -> Resolved {
        self.resolver.resolve_with(path, |rule| self.rules[rule] = true)
    }

    /// Returns a warning for each glob that matched nothing, in the order `exclude`, `embed`, rules.
    pub fn unmatched(&self) -> Vec<Diag> {
        let exclude = self.resolver.exclude.iter().zip(&self.exclude);
        let embed = self.resolver.embed.iter().zip(&self.embed);
        let rules = self.resolver.rules.iter().map(|(rule, _)| &rule.glob).zip(&self.rules);
        let unmatched = exclude.chain(embed).chain(rules).filter(|(_, matched)| !**matched);
        unmatched.map(|(glob, _)| glob.unmatched().path(&self.resolver.file)).collect()
    }
}

/// Returns whether a glob matches, and marks all that do. A glob that has matched before is not tried again once the
/// answer is known.
fn mark(globs: &[SourceGlob], path: &str, marks: &mut [bool]) -> bool {
    let mut any = false;
    for (glob, marked) in globs.iter().zip(marks) {
        if !(any && *marked) && glob.glob.matches(path) {
            (*marked, any) = (true, true);
        }
    }
    any
}
