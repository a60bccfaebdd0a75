//! Resolution of `#include` to files of the project.
//!
//! A name in quotes is looked up relative to the including file, then in the directories of `shader.include`, and then
//! relative to the input directory; a name in angle brackets is not looked up beside the including file. Every lookup is
//! a dependency, also one that finds no file. A name that leads out of the input directory is rejected.

use super::decode;
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_shader::{Include, Included, Includes};

/// Resolves includes through the inputs of an action.
pub(super) struct ProjectIncludes<'c, 'a> {
    cx: &'c mut ActionContext<'a>,
    include_dirs: Vec<RelPath>,
    fault: Option<Diag>,
    missing: Option<Missing>,
}

/// The first include that no file was found for.
struct Missing {
    name: String,
    from: RelPath,
    /// The directories that it was looked up in; empty for the input directory.
    dirs: Vec<String>,
}

impl<'c, 'a> ProjectIncludes<'c, 'a> {
    pub(super) fn new(cx: &'c mut ActionContext<'a>, include_dirs: Vec<RelPath>) -> ProjectIncludes<'c, 'a> {
        ProjectIncludes { cx, include_dirs, fault: None, missing: None }
    }

    /// Returns the result of a compilation with the errors of includes: the first of them, which the compiler does not
    /// report, and in place of its message about an include that was not found one that lists where it was looked up.
    pub(super) fn explain<T>(self, compiled: Result<T, Diag>) -> Result<T, Diag> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        compiled.map_err(|error| match self.missing {
            Some(missing) if error.message.contains("#include") && error.message.contains(&missing.name) => {
                missing.explain(error)
            }
            _ => error,
        })
    }
}

impl Includes for ProjectIncludes<'_, '_> {
    fn include(&mut self, include: Include<'_>) -> Option<Included> {
        if self.fault.is_some() {
            return None;
        }
        let from = RelPath::new(include.from).ok()?;
        let beside = from.parent();
        let mut dirs = if include.system { vec![] } else { vec![beside.as_ref()] };
        dirs.extend(self.include_dirs.iter().map(Some));
        dirs.push(None);
        match find(self.cx, &from, &dirs, include.name) {
            Ok(Some((path, text))) => Some(Included { path: path.to_string(), text }),
            Ok(None) => {
                let dirs = dirs.iter().map(|dir| dir.map(RelPath::to_string).unwrap_or_default()).collect();
                self.missing.get_or_insert(Missing { name: include.name.to_owned(), from, dirs });
                None
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}

impl Missing {
    /// Replaces the message of the compiler, which knows neither the directories nor the setting; its line is kept.
    fn explain(self, error: Diag) -> Diag {
        let mut dirs: Vec<String> = Vec::new();
        for dir in self.dirs {
            let dir = if dir.is_empty() { "the input directory".to_owned() } else { format!("{dir}/") };
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        let message = format!("{} is included and was not found in {}", self.name, dirs.join(" or "));
        let path = error.path.unwrap_or_else(|| self.from.to_string());
        let diag = Diag::new(Code::ShaderInclude, message).path(path);
        let diag = error.at.into_iter().fold(diag, Diag::at);
        diag.hint("correct the path, or add its directory to shader.include")
    }
}

/// Finds the first file of a name in these directories; `None` is the input directory.
pub(super) fn find(
    cx: &mut ActionContext<'_>,
    from: &RelPath,
    dirs: &[Option<&RelPath>],
    name: &str,
) -> Result<Option<(RelPath, String)>, Diag> {
    let mut refused = None;
    for dir in dirs {
        match RelPath::resolve(*dir, name) {
            Ok(path) => {
                if let Some(bytes) = cx.inputs.read_opt(&path)? {
                    return Ok(Some((path.clone(), decode(&path, bytes)?)));
                }
            }
            Err(bad) => refused = Some(bad),
        }
    }
    match refused {
        None => Ok(None),
        Some(bad) => {
            let message = format!("cannot include {name:?}: {bad}");
            Err(Diag::new(Code::ShaderInclude, message)
                .path(from)
                .hint("include files inside the input directory, by a relative path"))
        }
    }
}
