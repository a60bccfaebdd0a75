//! Reads the actions of an `.inputactions` file, JSON of Unity's Input System.
//!
//! The importer makes an object of each action, named `Map/Action`. Its fileID is the xxHash64 of its class and of the `id` of
//! the action, by the same rule as that of the objects of models.

/// The maximum depth of nested values.
const MAX_DEPTH: usize = 64;

/// An action: the name with that of its map, and its `id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputAction {
    pub(crate) name: String,
    pub(crate) id: String,
}

/// Returns the actions of a file. Damaged JSON has the actions before the damage.
pub(crate) fn read(text: &str) -> Vec<InputAction> {
    let mut reader = Reader::default();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(first) = rest.trim_start().chars().next() {
        rest = &rest.trim_start()[first.len_utf8()..];
        match first {
            '"' => {
                let Some((string, after)) = string(rest) else { break };
                rest = after;
                reader.string(string, after.trim_start().starts_with(':'));
            }
            '{' | '[' => {
                if reader.path.len() >= MAX_DEPTH {
                    break;
                }
                reader.path.push(reader.key.take());
                reader.opened();
            }
            '}' | ']' => {
                reader.closed();
                reader.path.pop();
                reader.key = None;
            }
            ',' => reader.key = None,
            _ => {}
        }
    }
    reader.actions
}

/// Parses a string up to its closing quote. Returns it with the rest.
fn string(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, digit)| digit).collect();
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

/// The state of the parser: only `maps[].name` and `maps[].actions[].name` and `.id` matter.
#[derive(Default)]
struct Reader {
    /// The keys of the open objects and arrays; elements of arrays have none.
    path: Vec<Option<String>>,
    key: Option<String>,
    map: String,
    name: Option<String>,
    id: Option<String>,
    /// The first action of the map: its name is complete when the map is.
    first: usize,
    actions: Vec<InputAction>,
}

impl Reader {
    /// Returns the keys of the open values, without elements of arrays.
    fn is_in(&self, keys: &[&str]) -> bool {
        self.path.len() == 1 + 2 * keys.len()
            && keys.iter().enumerate().all(|(n, key)| self.path[1 + 2 * n].as_deref() == Some(key))
    }

    fn string(&mut self, string: String, is_key: bool) {
        if is_key {
            self.key = Some(string);
            return;
        }
        match self.key.as_deref() {
            Some("name") if self.is_in(&["maps"]) => self.map = string,
            Some("name") if self.is_in(&["maps", "actions"]) => self.name = Some(string),
            Some("id") if self.is_in(&["maps", "actions"]) => self.id = Some(string),
            _ => {}
        }
    }

    fn opened(&mut self) {
        if self.is_in(&["maps"]) {
            (self.map, self.first) = (String::new(), self.actions.len());
        }
    }

    fn closed(&mut self) {
        if self.is_in(&["maps", "actions"])
            && let (Some(name), Some(id)) = (self.name.take(), self.id.take())
        {
            self.actions.push(InputAction { name, id });
        } else if self.is_in(&["maps"]) {
            for action in &mut self.actions[self.first..] {
                action.name = format!("{}/{}", self.map, action.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_the_names_of_their_maps() {
        let text = r#"{"name": "Input", "maps": [
            {"name": "Player", "id": "1", "actions": [
                {"name": "Jump", "type": "Button", "id": "2e43", "list": [{"name": "no", "id": "no"}]},
                {"name": "a\"b", "id": "9"}], "bindings": [{"name": "no", "id": "no"}]},
            {"actions": [{"id": "7", "name": "Click"}], "name": "UI"}],
            "controlSchemes": [{"name": "no", "id": "no"}]}"#;
        let found: Vec<_> = read(text).into_iter().map(|action| (action.name, action.id)).collect();
        let expected = [("Player/Jump", "2e43"), ("Player/a\"b", "9"), ("UI/Click", "7")];
        assert_eq!(found, expected.map(|(name, id)| (name.to_owned(), id.to_owned())));
    }

    #[test]
    fn damaged_files_do_not_panic() {
        let text = r#"{"maps": [{"name": "P", "actions": [{"name": "J\u00e9", "id": "2"}]}]}"#;
        for end in 0..=text.len() {
            read(&text[..end]);
        }
        assert_eq!(read(text)[0].name, "P/Jé");
        read(&"[".repeat(100_000));
        read("]]]}}}\"");
    }
}
