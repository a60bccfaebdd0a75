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
}

impl<'c, 'a> ProjectIncludes<'c, 'a> {
    pub(super) fn new(cx: &'c mut ActionContext<'a>, include_dirs: Vec<RelPath>) -> ProjectIncludes<'c, 'a> {
        ProjectIncludes { cx, include_dirs, fault: None }
    }

    /// Returns the first error of an include, which the compiler does not report.
    pub(super) fn fault(self) -> Option<Diag> {
        self.fault
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
            Ok(found) => found.map(|(path, text)| Included { path: path.to_string(), text }),
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
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
