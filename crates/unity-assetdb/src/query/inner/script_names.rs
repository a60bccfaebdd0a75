//! Names of scripts: from the script file in the project or a package, from the table of known scripts, or from a document
//! that names the class beside the reference, as Unity 6 writes it.

use super::{Inner, SCRIPT};
use crate::builtin;
use crate::index::Result;
use memchr::memmem;
use std::io::{self, Read};

/// The maximum number of files that are searched for the class of a script.
const MAX_FILES: usize = 4;
/// The maximum number of bytes that are read of each.
const MAX_BYTES: u64 = 8 << 20;
/// The size of a chunk in bytes.
const CHUNK: u64 = 64 << 10;
/// The maximum distance in bytes between a script and the class identifier after it.
const DISTANCE: usize = 400;

impl Inner<'_> {
    /// Returns the name of a script. `class_identifier` is the class that the document states beside the reference.
    pub(super) fn script_name(
        &mut self,
        script: (u128, i64),
        class_identifier: Option<&str>,
    ) -> Result<Option<String>> {
        if let Some(Some(known)) = self.scripts.get(&script) {
            return Ok(Some(known.clone()));
        }
        if let Some(class) = class_identifier {
            let name = self.named_by_file(script)?.unwrap_or_else(|| class.to_owned());
            self.scripts.insert(script, Some(name.clone()));
            return Ok(Some(name));
        }
        if let Some(known) = self.scripts.get(&script) {
            return Ok(known.clone());
        }
        let known = || builtin::script(script.0, script.1).map(str::to_owned);
        let name = match self.named_by_file(script)?.or_else(known) {
            Some(name) => Some(name),
            None => self.named_by_users(script)?,
        };
        self.scripts.insert(script, name.clone());
        Ok(name)
    }

    /// Returns the name of the script file. A library has many scripts, and none has its name.
    fn named_by_file(&mut self, (guid, file_id): (u128, i64)) -> Result<Option<String>> {
        if file_id != SCRIPT {
            return Ok(None);
        }
        let Some(home) = self.home(guid)? else { return Ok(None) };
        home.entry(guid)?.map(|entry| entry.stem()).transpose()
    }

    /// Searches the files that refer to a script for a document that states its class.
    fn named_by_users(&self, (guid, file_id): (u128, i64)) -> Result<Option<String>> {
        let uses = self.index.uses(guid)?;
        let users = uses.iter().filter(|(_, reference)| reference.file_id == file_id && !reference.in_meta);
        let script = format!("m_Script: {{fileID: {file_id}, guid: {}", crate::guid::Guid(guid));
        for (entry, _) in users.take(MAX_FILES) {
            let file = kiln_engine::regular_file::open(&self.root.join(entry.hint()?));
            if let Ok(Some(class)) = file.and_then(|file| class_beside(file.take(MAX_BYTES), &script)) {
                return Ok(Some(class));
            }
        }
        Ok(None)
    }
}

/// Returns the class that a document states after a script. Holds one chunk of the file, because a scene may be large.
fn class_beside(mut file: impl Read, script: &str) -> io::Result<Option<String>> {
    const KEY: &[u8] = b"\n  m_EditorClassIdentifier:";
    let mut bytes = Vec::with_capacity(CHUNK as usize + DISTANCE);
    loop {
        let read = file.by_ref().take(CHUNK).read_to_end(&mut bytes)?;
        for at in memmem::find_iter(&bytes, script.as_bytes()) {
            // A document that is cut is found again, with the next chunk.
            if read > 0 && at + DISTANCE > bytes.len() {
                break;
            }
            let near = &bytes[at..bytes.len().min(at + DISTANCE)];
            let value = memmem::find(near, KEY).map(|found| &near[found + KEY.len()..]);
            let class =
                value.and_then(|value| super::yaml_objects::class_of(&crate::scalar::decode(value, 2)));
            if class.is_some() {
                return Ok(class);
            }
        }
        if read == 0 {
            return Ok(None);
        }
        bytes.drain(..bytes.len().saturating_sub(DISTANCE + script.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_class_at_every_offset_of_a_chunk() {
        let script = "m_Script: {fileID: 11500000, guid: 8f57b4a070f7b43bbb3925467e6752ab";
        for before in CHUNK as usize - 200..CHUNK as usize + 20 {
            let text =
                format!("{}{script}, type: 3}}\n  m_EditorClassIdentifier: A::N.Item\n", " ".repeat(before));
            assert_eq!(class_beside(text.as_bytes(), script).unwrap().as_deref(), Some("Item"), "{before}");
        }
        assert_eq!(class_beside(script.as_bytes(), script).unwrap(), None);
        assert_eq!(class_beside(&b""[..], script).unwrap(), None);
    }
}
