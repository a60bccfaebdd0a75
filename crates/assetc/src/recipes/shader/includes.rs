//! What an `#include` leads to: a file of the project, beside the one that asks or from the input directory.
//!
//! A name in quotes is looked for beside the file that asks and then from the input directory, one in brackets from
//! the input directory only. Every look is a dependency, also one in vain. A name that leads out of the input
//! directory is refused.

use super::decode;
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_shader::{Include, Included, Includes};

/// Follows includes through the window of a cook.
pub(super) struct ProjectIncludes<'c, 'a> {
    cx: &'c mut ActionContext<'a>,
    fault: Option<Diag>,
}

impl<'c, 'a> ProjectIncludes<'c, 'a> {
    pub(super) fn new(cx: &'c mut ActionContext<'a>) -> ProjectIncludes<'c, 'a> {
        ProjectIncludes { cx, fault: None }
    }

    /// What went wrong beside the compiler.
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
        let dirs = if include.system { vec![None] } else { vec![beside.as_ref(), None] };
        match find(self.cx, &from, &dirs, include.name) {
            Ok(found) => found.map(|(path, text)| Included { path: path.to_string(), text }),
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}

/// The first file that a name leads to from one of these directories; `None` is the input directory.
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
            let message = format!("it includes {name:?}, which is refused: {bad}");
            Err(Diag::new(Code::ShaderInclude, message)
                .path(from)
                .hint("include files of the input directory, by a relative path"))
        }
    }
}
