//! Remote execution: commands for the service `Execution` of the Remote Execution API.
//!
//! The directory of a command is a Merkle tree of `Directory` messages. Everything that the server lacks is uploaded to its CAS,
//! then `Execute` returns a stream of operations that ends with the result. A stream that breaks is resumed with
//! `WaitExecution`. The result of an equal action may come from the action cache of the server.

use super::message::*;
use super::{CHUNK, LONGEST_BATCH, Reapi, blob_of};
use crate::reapi::grpc::Watched;
use kiln_engine::Hash;
use kiln_engine::remote::{Blob, Command, CommandFile, ExecutionServer, Fault, Remote};
use prost::Message;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const EXECUTE: &str = "/build.bazel.remote.execution.v2.Execution/Execute";
const WAIT_EXECUTION: &str = "/build.bazel.remote.execution.v2.Execution/WaitExecution";

/// The delays before a broken stream of operations is resumed.
const RESUME_DELAYS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// The longest accepted output in bytes.
const LONGEST_OUTPUT: u64 = 8 << 30;

/// The longest part of the standard error of a command that a message repeats, in characters.
const MAX_STDERR_CHARS: usize = 200;

/// The longest standard error that is downloaded, in bytes.
const LONGEST_STDERR: u64 = 64 << 10;

/// The gRPC status code `FAILED_PRECONDITION`: the server lacks a blob of the command.
const FAILED_PRECONDITION: i32 = 9;

/// The service `Execution` of a server, with the properties that workers must have.
pub struct ReapiExecution {
    server: Reapi,
    properties: Vec<(String, String)>,
    /// Blobs that the server had during this run.
    known: Mutex<HashSet<Hash>>,
    /// Locked while the program is uploaded, so that it is uploaded once.
    program: Mutex<()>,
}

/// The messages of a command.
struct Encoded {
    action: Blob,
    /// The messages that the CAS must have: directories, command and action.
    blobs: Vec<(Blob, Vec<u8>)>,
}

/// A directory while the Merkle tree is built.
#[derive(Default)]
struct Tree<'a> {
    files: BTreeMap<&'a str, &'a CommandFile>,
    directories: BTreeMap<&'a str, Tree<'a>>,
}

impl ReapiExecution {
    /// Makes a client of the service of a server. `properties` are names and values of `Platform` properties, by which servers
    /// select workers.
    pub fn new(server: Reapi, mut properties: Vec<(String, String)>) -> ReapiExecution {
        // The API requires this order.
        properties.sort();
        ReapiExecution { server, properties, known: Mutex::default(), program: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<Hash>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uploads everything that the server lacks.
    fn upload(&self, command: &Command<'_>, encoded: &Encoded) -> Result<(), Fault> {
        let (program, others): (Vec<_>, Vec<_>) = command.files.iter().partition(|file| file.is_executable);
        {
            let _once = self.program.lock().unwrap_or_else(PoisonError::into_inner);
            self.upload_files(command, &program)?;
        }
        self.upload_files(command, &others)?;
        let unknown = self.unknown(encoded.blobs.iter().map(|(blob, _)| *blob))?;
        let unknown: Vec<_> =
            encoded.blobs.iter().filter(|(blob, _)| unknown.contains(blob)).cloned().collect();
        let mut uploads = Uploads::new(&self.server);
        unknown.into_iter().try_for_each(|(blob, bytes)| uploads.add(blob, bytes))?;
        uploads.finish()?;
        self.known().extend(encoded.blobs.iter().map(|(blob, _)| blob.hash));
        Ok(())
    }

    fn upload_files(&self, command: &Command<'_>, files: &[&CommandFile]) -> Result<(), Fault> {
        let unknown = self.unknown(files.iter().map(|file| file.blob))?;
        let (mut uploads, mut sent) = (Uploads::new(&self.server), HashSet::new());
        for file in files.iter().filter(|file| unknown.contains(&file.blob)) {
            if sent.insert(file.blob.hash) {
                uploads.add(file.blob, (command.read)(file)?)?;
            }
        }
        uploads.finish()?;
        self.known().extend(files.iter().map(|file| file.blob.hash));
        Ok(())
    }

    /// Returns the blobs that the server lacks.
    fn unknown(&self, blobs: impl Iterator<Item = Blob>) -> Result<Vec<Blob>, Fault> {
        let mut new: Vec<Blob> = blobs.collect();
        new.retain(|blob| !self.known().contains(&blob.hash));
        self.server.missing(&new)
    }

    /// Runs an action whose messages the server has; `None` if the server lacks one of them after all.
    fn run(
        &self,
        action: Blob,
        deadline: Instant,
        command: &Command<'_>,
    ) -> Result<Option<ExecuteResponse>, Fault> {
        let execute = ExecuteRequest {
            instance_name: self.server.instance.clone(),
            action_digest: Some(action.into()),
            digest_function: SHA256,
        };
        let (mut name, mut last) =
            (None::<String>, Fault::Broken("the stream of operations ended".to_owned()));
        let mut delays = RESUME_DELAYS.iter();
        loop {
            let (mut done, resumed) = (None, name.clone());
            let take = |operation: Operation| {
                name = Some(operation.name.clone()).filter(|name| !name.is_empty());
                done = operation.done.then_some(operation);
                done.is_some()
            };
            let (grpc, cancelled) = (&self.server.server, command.is_cancelled);
            let watched = match resumed {
                None => grpc.watch(EXECUTE, execute.clone(), deadline, cancelled, take),
                Some(name) => {
                    grpc.watch(WAIT_EXECUTION, WaitExecutionRequest { name }, deadline, cancelled, take)
                }
            };
            match (watched, done) {
                (Ok(_), Some(operation)) => return finished(operation),
                (Ok(Watched::Precondition), None) => return Ok(None),
                // The server does not know the operation: it was restarted.
                (Ok(Watched::NotFound), None) => name = None,
                (Ok(Watched::Ended), None) => {}
                (Err(fault @ (Fault::Broken(_) | Fault::Unreachable(_))), None) => last = fault,
                (Err(fault), _) => return Err(fault),
            }
            match delays.next() {
                Some(delay) if Instant::now() + *delay < deadline => std::thread::sleep(*delay),
                _ => return Err(last),
            }
        }
    }

    /// Returns the content of the output file of a command.
    fn output(&self, response: ExecuteResponse, command: &Command<'_>) -> Result<Vec<u8>, Fault> {
        let status = response.status.unwrap_or_default();
        if status.code != 0 {
            let code = tonic::Code::from(status.code);
            return Err(Fault::Failed(format!("{code:?}: {}", excerpt(status.message.as_bytes()))));
        }
        let result = response.result.ok_or(Fault::Garbled("the server returned no result of a command"))?;
        if result.exit_code != 0 {
            return Err(Fault::Failed(format!("exit code {}{}", result.exit_code, self.stderr(&result))));
        }
        let output = result.output_files.iter().find(|file| file.path == command.output);
        let Some(digest) = output.and_then(|file| file.digest.as_ref()) else {
            return Err(Fault::Failed(format!("the command wrote no result{}", self.stderr(&result))));
        };
        let blob = blob_of(digest).filter(|blob| blob.len <= LONGEST_OUTPUT);
        let blob = blob.ok_or(Fault::Garbled("the digest of an output is invalid"))?;
        let bytes = self.server.get_blobs(&[blob], command.timeout)?.pop().flatten();
        let bytes = bytes.ok_or_else(|| Fault::Failed("the server lost the result".to_owned()))?;
        match Blob::of(&bytes) == blob {
            true => Ok(bytes),
            false => Err(Fault::Garbled("the content of an output does not have its digest")),
        }
    }

    /// Returns the standard error of a command for a message, after a colon; empty if there is none.
    fn stderr(&self, result: &ActionResult) -> String {
        let stored = || {
            let blob = blob_of(result.stderr_digest.as_ref()?)?;
            let is_short = (1..=LONGEST_STDERR).contains(&blob.len);
            is_short.then(|| self.server.get_blobs(&[blob], Duration::ZERO).ok()?.pop()?).flatten()
        };
        let bytes = match result.stderr_raw.is_empty() {
            true => stored().unwrap_or_default(),
            false => result.stderr_raw.clone(),
        };
        let text = excerpt(&bytes);
        if text.is_empty() { text } else { format!(": {text}") }
    }
}

impl ExecutionServer for ReapiExecution {
    fn execute(&self, command: &Command<'_>) -> Result<Vec<u8>, Fault> {
        let deadline = Instant::now() + command.timeout;
        let encoded = encode(command, &self.properties);
        self.upload(command, &encoded)?;
        let response = match self.run(encoded.action, deadline, command)? {
            Some(response) => response,
            None => {
                // The server has evicted a blob since it was uploaded.
                self.known().clear();
                self.upload(command, &encoded)?;
                let again = self.run(encoded.action, deadline, command)?;
                again.ok_or_else(|| Fault::Failed("the server lost an input of the command".to_owned()))?
            }
        };
        self.output(response, command)
    }

    fn name(&self) -> String {
        self.server.name()
    }
}

/// Collects small blobs to batches.
struct Uploads<'a> {
    server: &'a Reapi,
    batch: Vec<(Blob, Vec<u8>)>,
    total: u64,
}

impl<'a> Uploads<'a> {
    fn new(server: &'a Reapi) -> Uploads<'a> {
        Uploads { server, batch: vec![], total: 0 }
    }

    fn add(&mut self, blob: Blob, bytes: Vec<u8>) -> Result<(), Fault> {
        // Each blob also costs its digest, so small ones are limited in number.
        if self.total + blob.len > LONGEST_BATCH / 2 || self.batch.len() >= 1000 {
            self.finish()?;
        }
        self.total += blob.len;
        self.batch.push((blob, bytes));
        if self.total > CHUNK as u64 { self.finish() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.total = 0;
        match std::mem::take(&mut self.batch) {
            batch if batch.is_empty() => Ok(()),
            batch => self.server.put_blobs(&batch),
        }
    }
}

/// Returns the response of a finished operation; `None` if the server lacks a blob of the command.
fn finished(operation: Operation) -> Result<Option<ExecuteResponse>, Fault> {
    let failed = |status: &Status| {
        let code = tonic::Code::from(status.code);
        Fault::Failed(format!("{code:?}: {}", excerpt(status.message.as_bytes())))
    };
    match (operation.error, operation.response) {
        (Some(status), _) if status.code == FAILED_PRECONDITION => Ok(None),
        (Some(status), _) if status.code != 0 => Err(failed(&status)),
        (_, Some(any)) => {
            let response = ExecuteResponse::decode(any.value.as_slice());
            let response = response.map_err(|_| Fault::Garbled("the result of an operation is damaged"))?;
            let is_lost = response.status.as_ref().is_some_and(|status| status.code == FAILED_PRECONDITION);
            Ok((!is_lost).then_some(response))
        }
        (_, None) => Err(Fault::Garbled("an operation ended without a result")),
    }
}

/// Encodes the messages of a command. Equal commands have equal messages, so that servers find results of earlier ones.
fn encode(command: &Command<'_>, properties: &[(String, String)]) -> Encoded {
    let mut root = Tree::default();
    for file in command.files {
        let (dir, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        directory(&mut root, dir).files.insert(name, file);
    }
    for dir in command.directories {
        directory(&mut root, dir);
    }
    let mut blobs = Vec::new();
    let input_root = add_tree(&root, &mut blobs);
    let property = |(name, value): &(String, String)| Property { name: name.clone(), value: value.clone() };
    let platform = Platform { properties: properties.iter().map(property).collect() };
    let platform = Some(platform).filter(|platform| !platform.properties.is_empty());
    let mut environment: Vec<Property> = command.environment.iter().map(property).collect();
    environment.sort_by(|a, b| a.name.cmp(&b.name));
    let message = CommandMessage {
        arguments: command.arguments.to_vec(),
        environment_variables: environment,
        // Servers of version 2.1 and later read `output_paths`, others `output_files`.
        output_files: vec![command.output.to_owned()],
        platform: platform.clone(),
        output_paths: vec![command.output.to_owned()],
    };
    let command_digest = add(&message, &mut blobs);
    let action = Action {
        command_digest: Some(command_digest.into()),
        input_root_digest: Some(input_root.into()),
        timeout: Some(Seconds { seconds: command.timeout.as_secs() as i64 }),
        platform,
    };
    Encoded { action: add(&action, &mut blobs), blobs }
}

/// Returns the directory at a path, with all directories above it.
fn directory<'t, 'a>(root: &'t mut Tree<'a>, path: &'a str) -> &'t mut Tree<'a> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.fold(root, |tree, part| tree.directories.entry(part).or_default())
}

fn add_tree(tree: &Tree<'_>, blobs: &mut Vec<(Blob, Vec<u8>)>) -> Blob {
    let file = |(name, file): (&&str, &&CommandFile)| FileNode {
        name: (*name).to_owned(),
        digest: Some(file.blob.into()),
        is_executable: file.is_executable,
    };
    let files = tree.files.iter().map(file).collect();
    let mut directories = Vec::new();
    for (name, below) in &tree.directories {
        let digest = Some(add_tree(below, blobs).into());
        directories.push(DirectoryNode { name: (*name).to_owned(), digest });
    }
    add(&Directory { files, directories }, blobs)
}

fn add(message: &impl Message, blobs: &mut Vec<(Blob, Vec<u8>)>) -> Blob {
    let bytes = message.encode_to_vec();
    let blob = Blob::of(&bytes);
    if !blobs.iter().any(|(known, _)| *known == blob) {
        blobs.push((blob, bytes));
    }
    blob
}

/// Returns the end of an output of a worker on one line, without control characters.
fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.trim().lines().last().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_STDERR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::remote::FileContent;

    fn file(path: &str, content: &[u8], is_executable: bool) -> CommandFile {
        let (blob, content) = (Blob::of(content), FileContent::Bytes(content.to_vec()));
        CommandFile { path: path.to_owned(), blob, is_executable, content }
    }

    fn action(files: &[CommandFile], directories: &[String]) -> Encoded {
        let command = Command {
            arguments: &["bin/p".to_owned(), "run-action".to_owned()],
            environment: &[("LD_LIBRARY_PATH".to_owned(), "lib".to_owned())],
            files,
            directories,
            output: "result",
            timeout: Duration::from_secs(60),
            read: &|_| unreachable!(),
            is_cancelled: &|| false,
        };
        encode(&command, &[("OSFamily".to_owned(), "linux".to_owned())])
    }

    /// The digests of the same messages, serialized by the Protobuf library of Python from the messages of BuildGrid.
    #[test]
    fn encodes_the_messages_of_the_api() {
        let files =
            [file("bin/p", b"program", true), file("sources/b/c", b"C", false), file("a", b"A", false)];
        let encoded = action(&files, &["sources/empty".to_owned(), "sources/b".to_owned()]);
        let hashes: Vec<String> = encoded.blobs.iter().map(|(blob, _)| blob.hash.to_string()).collect();
        let root = "63b1d911c0640e98422ebafa9d0139525720ae73ef2668fbc1560b95c180a331";
        let command = "357d28b5384e74b563aab807806c19fd6fd44f4cbcee0f1ecc5ab73273193679";
        assert!(hashes.iter().any(|hash| hash == root), "{hashes:?}");
        assert!(hashes.iter().any(|hash| hash == command), "{hashes:?}");
        assert_eq!(
            encoded.action.hash.to_string(),
            "7c9452e08069fbce3e079e9bbe12f3f19788113b355594fc20fe898d6ce4983f"
        );
    }

    #[test]
    fn order_of_files_does_not_matter() {
        let files = [file("x/b", b"1", false), file("x/a", b"2", false), file("y", b"3", false)];
        let reversed: Vec<CommandFile> = files.iter().rev().cloned().collect();
        assert_eq!(action(&files, &[]).action, action(&reversed, &[]).action);
        assert_ne!(action(&files, &[]).action, action(&files[..2], &[]).action);
    }

    #[test]
    fn finished_operations_have_a_response_or_an_error() {
        let status = |code| Some(Status { code, message: "no\u{1b}[31m".to_owned() });
        let operation = |error, response| Operation { name: String::new(), done: true, error, response };
        let any = |value: Vec<u8>| Some(Any { type_url: String::new(), value });
        let response = ExecuteResponse { result: Some(ActionResult::default()), status: None };
        let lost = ExecuteResponse { result: None, status: status(FAILED_PRECONDITION) };
        assert_eq!(finished(operation(None, any(response.encode_to_vec()))), Ok(Some(response)));
        assert_eq!(finished(operation(None, any(lost.encode_to_vec()))), Ok(None));
        assert_eq!(finished(operation(status(FAILED_PRECONDITION), None)), Ok(None));
        let failed = finished(operation(status(4), None)).unwrap_err();
        assert_eq!(failed, Fault::Failed("DeadlineExceeded: no[31m".to_owned()));
        assert!(matches!(finished(operation(None, None)), Err(Fault::Garbled(_))));
        assert!(matches!(finished(operation(None, any(vec![0xff]))), Err(Fault::Garbled(_))));
    }
}
