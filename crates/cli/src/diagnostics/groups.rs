//! Grouping of warnings by code, so that a thousand warnings of one kind do not hide the others.

use kiln_engine::{Code, Diag, Severity};
use std::collections::BTreeMap;

/// The number of diagnostics with one code that are shown.
const SHOWN: usize = 3;

/// The diagnostics of one code: the first ones, and the number of the others.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    /// The first diagnostics.
    pub(crate) first: Vec<&'a Diag>,
    /// The number of further diagnostics.
    pub(crate) more: usize,
}

/// Groups warnings, also denied ones, by code, in the order of their first occurrence. Errors are not abridged: each is
/// an asset that has no result.
pub(crate) fn by_code<'a>(diags: &[(Severity, &'a Diag)]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: BTreeMap<Code, usize> = BTreeMap::new();
    for &(severity, diag) in diags {
        let place = *places.entry(diag.code).or_insert_with(|| {
            groups.push(Group { code: diag.code, severity, first: Vec::new(), more: 0 });
            groups.len() - 1
        });
        let group = &mut groups[place];
        match group.first.len() < SHOWN || diag.severity() == Severity::Error {
            true => group.first.push(diag),
            false => group.more += 1,
        }
    }
    // One line would be as long as the line about it.
    for group in groups.iter_mut().filter(|group| group.more == 1) {
        group.more = 0;
        group.first.extend(diags.iter().map(|(_, diag)| *diag).rfind(|diag| diag.code == group.code));
    }
    groups
}

impl Group<'_> {
    /// Formats the line about the diagnostics that are not shown.
    pub(crate) fn remainder(&self) -> Option<String> {
        let shown = self.first.len();
        (self.more > 0).then(|| {
            format!(
                "{} more with this code after the first {shown}; -v shows all, --explain {} describes them",
                self.more, self.code
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_first_warnings_of_each_code_and_all_errors() {
        let warnings: Vec<Diag> =
            (0..9).map(|n| Diag::new(Code::SymlinkIgnored, format!("{n}")).path("a")).collect();
        let kept: Vec<Diag> = (0..4).map(|n| Diag::new(Code::CleanKept, format!("{n}"))).collect();
        let errors: Vec<Diag> = (0..9).map(|n| Diag::new(Code::FileEmpty, format!("{n}"))).collect();
        let all: Vec<(Severity, &Diag)> = [&warnings[..4], &kept, &errors, &warnings[4..]]
            .concat()
            .leak()
            .iter()
            .map(|diag| (diag.severity(), diag))
            .collect();
        let groups = by_code(&all);
        let shape = |group: &Group<'_>| (group.code, group.first.len(), group.more);
        assert_eq!(
            groups.iter().map(shape).collect::<Vec<_>>(),
            [(Code::SymlinkIgnored, 3, 6), (Code::CleanKept, 4, 0), (Code::FileEmpty, 9, 0)]
        );
        assert_eq!(groups[1].first[3].message, "3", "a single further warning is shown");
        assert!(groups[0].remainder().unwrap().starts_with("6 more with this code after the first 3;"));
        assert_eq!(groups[1].remainder(), None);
    }
}
