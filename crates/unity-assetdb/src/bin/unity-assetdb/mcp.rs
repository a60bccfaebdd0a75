//! The `mcp` command: a Model Context Protocol server on standard input and output, for AI assistants.
//!
//! Each query of the command line is a tool. The index is up to date at each call: it is refreshed if a file changed. Answers
//! are bounded: a call returns at most `limit` rows and the offset of the next ones. Tools that change the project exist only
//! with `--allow-writes`.
//!
//! The loop is [`json_rpc`] and not `rmcp`: that crate with its asynchronous runtime is 75 crates and 62 s of CPU time to compile
//! (release, cold), against 101 s for all of this executable, and the server answers one request at a time.

use super::args::{CheckArgs, EditArgs, UnusedArgs};
use super::json_rpc::{self, Framing, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError};
use super::lookup::{self, Answer, Direction};
use super::{Failure, Session, analysis, check, dependencies, edit, review};
use kiln_cli::reporter::OK;
use kiln_engine::{Code, Diag, Json};
use std::io;

/// The revisions of the protocol that the server knows, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The number of rows of an answer, unless the client asks for another one.
const DEFAULT_LIMIT: u64 = 100;
/// The maximum number of rows of an answer.
const MAX_LIMIT: u64 = 1000;
/// The maximum size of one answer in bytes; rows beyond it are left for the next call.
const MAX_ANSWER: usize = 256 << 10;

/// A tool: name, description, parameters, and whether it changes the project.
struct Tool {
    name: &'static str,
    description: &'static str,
    params: &'static [Param],
    writes: bool,
}

/// A parameter: name, type, description, and whether it is required.
struct Param(&'static str, &'static str, &'static str, bool);

const ASSET: Param = Param(
    "asset",
    "string",
    "Path, name, GUID, {fileID: …, guid: …} reference, or FILE:LINE of a reference",
    true,
);

const TOOLS: &[Tool] = &[
    Tool {
        name: "resolve",
        description: "Resolve a GUID or reference of a Unity file to the asset or object it points to",
        params: &[
            ASSET,
            Param("fileID", "string", "The fileID of the object inside the asset, as a string", false),
        ],
        writes: false,
    },
    Tool {
        name: "find",
        description: "Find assets and sub-assets by name",
        params: &[Param("pattern", "string", "Substring of the name, or a pattern with * and ?", true)],
        writes: false,
    },
    Tool {
        name: "list",
        description: "List assets, or the assets and sub-assets of one type",
        params: &[Param(
            "type",
            "string",
            "A class (Sprite), a class ID (213) or the name of a script",
            false,
        )],
        writes: false,
    },
    Tool {
        name: "uses",
        description: "List the files and lines that refer to an asset, an object or the assets of a folder",
        params: &[
            ASSET,
            Param("recursive", "boolean", "List everything that depends on it, directly or not", false),
        ],
        writes: false,
    },
    Tool {
        name: "deps",
        description: "List the assets that an asset refers to",
        params: &[
            ASSET,
            Param("recursive", "boolean", "List everything that it depends on, with sizes", false),
        ],
        writes: false,
    },
    Tool {
        name: "why",
        description: "Show the shortest chain of references from a root of the build (scene, settings, Resources) to an asset",
        params: &[ASSET],
        writes: false,
    },
    Tool {
        name: "unused",
        description: "List assets that no scene in the build, setting, Resources folder or code reaches",
        params: &[Param("all_scenes", "boolean", "Treat disabled scenes as used", false)],
        writes: false,
    },
    Tool {
        name: "broken",
        description: "List references to missing assets or objects",
        params: &[],
        writes: false,
    },
    Tool {
        name: "check",
        description: "Check the project for problems: broken references, .meta files, duplicate GUIDs, merge conflicts",
        params: &[Param(
            "changed_since",
            "string",
            "Report only problems introduced since this revision of Git",
            false,
        )],
        writes: false,
    },
    Tool {
        name: "review",
        description: "Summarize the changes of a branch in Unity's terms: assets, objects and values, with names",
        params: &[Param("range", "string", "Revisions of Git: BASE..HEAD", true)],
        writes: false,
    },
    Tool {
        name: "replace",
        description: "Rewrite all references to one asset so that they point to another",
        params: &[
            Param("old", "string", "The asset or object that references point to", true),
            Param("new", "string", "The asset or object that they should point to", true),
            Param("dry_run", "boolean", "Show the changes without writing them", false),
        ],
        writes: true,
    },
    Tool {
        name: "mv",
        description: "Move or rename an asset or folder together with its .meta",
        params: &[
            Param("from", "string", "Path, name or GUID of the asset", true),
            Param("to", "string", "The new path, or an existing folder", true),
            Param("dry_run", "boolean", "Show the changes without writing them", false),
        ],
        writes: true,
    },
];

pub(super) fn mcp(session: &Session, allow_writes: bool) -> Result<u8, Failure> {
    // Fails at once if there is no project.
    session.root()?;
    session.keep_warm();
    let handle = |message: &Message| Some(request(session, allow_writes, message));
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    json_rpc::serve(Framing::Lines, &mut input, &mut output, handle)
        .map_err(|error| Diag::new(Code::Stdout, format!("the connection failed: {error}")))?;
    Ok(OK)
}

fn request(session: &Session, allow_writes: bool, message: &Message) -> Result<Json, RpcError> {
    match &*message.method {
        "initialize" => {
            let wanted = message.params.get("protocolVersion").and_then(Json::text).unwrap_or_default();
            let version = VERSIONS.into_iter().find(|known| *known == wanted).unwrap_or(VERSIONS[0]);
            Ok(Json::object([
                ("protocolVersion", version.into()),
                ("capabilities", Json::object([("tools", Json::object([]))])),
                (
                    "serverInfo",
                    Json::object([("name", "unity-assetdb".into()), ("version", env!("CARGO_PKG_VERSION").into())]),
                ),
                (
                    "instructions",
                    "Answers questions about the assets of a Unity project from an index that is refreshed at each call. \
                     Rows beyond `limit` are returned from `nextOffset` on."
                        .into(),
                ),
            ]))
        }
        "ping" | "notifications/initialized" | "notifications/cancelled" => Ok(Json::object([])),
        "tools/list" => {
            let tools = TOOLS.iter().filter(|tool| allow_writes || !tool.writes).map(described);
            Ok(Json::object([("tools", Json::list(tools))]))
        }
        "tools/call" => call(session, allow_writes, &message.params),
        method => Err(RpcError::new(METHOD_NOT_FOUND, format!("unknown method {method:?}"))),
    }
}

/// Describes a tool with the JSON Schema of its parameters.
fn described(tool: &Tool) -> Json {
    let property = |kind: &str, description: &str| {
        Json::object([("type", kind.into()), ("description", description.into())])
    };
    let mut properties: Vec<(String, Json)> = tool
        .params
        .iter()
        .map(|Param(name, kind, description, _)| ((*name).to_owned(), property(kind, description)))
        .collect();
    properties
        .push(("limit".to_owned(), property("integer", "Maximum number of rows, up to 1000 [default: 100]")));
    properties.push((
        "offset".to_owned(),
        property("integer", "Number of rows to skip: nextOffset of the last answer"),
    ));
    let required = tool.params.iter().filter(|param| param.3).map(|param| param.0);
    let schema = Json::object([
        ("type", "object".into()),
        ("properties", Json::Object(properties)),
        ("required", Json::list(required)),
        ("additionalProperties", false.into()),
    ]);
    let annotations = Json::object([
        ("readOnlyHint", (!tool.writes).into()),
        ("destructiveHint", tool.writes.into()),
        ("openWorldHint", false.into()),
    ]);
    Json::object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("inputSchema", schema),
        ("annotations", annotations),
    ])
}

/// The arguments of a call, checked against the parameters of the tool.
struct Arguments<'a>(&'a Json);

impl Arguments<'_> {
    fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Json::Text(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn required(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Json::Bool(true)))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Json::number)
    }
}

fn check_arguments(tool: &Tool, arguments: &Json) -> Result<(), RpcError> {
    let bad = |message: String| Err(RpcError::new(INVALID_PARAMS, message));
    let Json::Object(members) = arguments else { return bad("arguments must be an object".to_owned()) };
    for (name, value) in members {
        let kind = match &**name {
            "limit" | "offset" => "integer",
            name => match tool.params.iter().find(|param| param.0 == name) {
                Some(param) => param.1,
                None => return bad(format!("{} has no parameter {name:?}", tool.name)),
            },
        };
        let fits = match value {
            Json::Text(_) => kind == "string",
            Json::Bool(_) => kind == "boolean",
            // A fileID that a client wrote as a number.
            Json::Number(_) => kind != "boolean",
            Json::Null => true,
            _ => false,
        };
        if !fits {
            return bad(format!("{name} must be of type {kind}"));
        }
    }
    match tool.params.iter().find(|param| param.3 && arguments.get(param.0).and_then(Json::text).is_none()) {
        Some(param) => bad(format!("{} requires the string {:?}", tool.name, param.0)),
        None => Ok(()),
    }
}

fn call(session: &Session, allow_writes: bool, params: &Json) -> Result<Json, RpcError> {
    let name = params.get("name").and_then(Json::text).unwrap_or_default();
    let tool = TOOLS.iter().find(|tool| tool.name == name && (allow_writes || !tool.writes));
    let Some(tool) = tool else {
        let hint = match TOOLS.iter().any(|tool| tool.name == name) {
            true => "; start the server with --allow-writes",
            false => "",
        };
        return Err(RpcError::new(INVALID_PARAMS, format!("unknown tool {name:?}{hint}")));
    };
    let empty = Json::object([]);
    let arguments = match params.get("arguments") {
        None | Some(Json::Null) => &empty,
        Some(arguments) => arguments,
    };
    check_arguments(tool, arguments)?;
    let arguments = Arguments(arguments);
    let run = || run(session, tool.name, &arguments);
    let result = match run() {
        Err(failure) if failure.damaged && session.rebuild() => run(),
        result => result,
    };
    session.forget_rebuild();
    Ok(match result {
        Ok((rows, notes)) => page(&rows, &notes, &arguments),
        Err(failure) => {
            let text: Vec<String> = failure.diags.iter().map(Diag::to_string).collect();
            content(&text.join("\n"), None, true)
        }
    })
}

fn run(
    session: &Session,
    tool: &str,
    arguments: &Arguments<'_>,
) -> Result<(Vec<Json>, Vec<String>), Failure> {
    let (root, index) = session.index_with_duplicates()?;
    let (index, root) = (&index, &*root);
    let asset = arguments.required("asset");
    let answer: Answer = match tool {
        "resolve" => {
            let file_id = arguments.text("fileID").map(|text| {
                text.parse().map_err(|_| Diag::new(Code::Usage, format!("expected a fileID, found {text:?}")))
            });
            lookup::resolve(index, root, &asset, file_id.transpose()?)?
        }
        "find" => lookup::find(index, &arguments.required("pattern"))?,
        "list" => lookup::list(index, arguments.text("type").as_deref())?,
        "uses" if arguments.flag("recursive") => {
            lookup::recursive(index, root, &asset, Direction::Uses, false)?
        }
        "uses" => lookup::uses(index, root, &asset)?,
        "deps" if arguments.flag("recursive") => {
            lookup::recursive(index, root, &asset, Direction::Dependencies, true)?
        }
        "deps" => dependencies::deps_rows(index, root, &asset)?,
        "why" => lookup::why(index, root, &asset, false)?,
        "unused" => {
            let args =
                UnusedArgs { size: true, all_scenes: arguments.flag("all_scenes"), ..UnusedArgs::default() };
            analysis::unused_rows(index, root, &args)?
        }
        "broken" => analysis::broken_rows(index, root)?,
        "check" => {
            let args = CheckArgs { changed_since: arguments.text("changed_since"), ..CheckArgs::default() };
            let (found, ignored) = check::without_ignored(check::find(index, root, &args)?, root, &args)?;
            let json = found.iter().map(|finding| kiln_cli::render::diag_json(&finding.diag)).collect();
            let notes =
                if ignored > 0 { vec![format!("{ignored} findings are ignored")] } else { Vec::new() };
            return Ok((json, notes));
        }
        "review" => {
            let (summary, broken) = review::summary(index, root, &arguments.required("range"))?;
            return Ok((vec![review::json(&summary, &broken)], Vec::new()));
        }
        "replace" => {
            let options = EditArgs { dry_run: arguments.flag("dry_run"), force: false };
            let done = edit::replace_in(
                index,
                root,
                &arguments.required("old"),
                &arguments.required("new"),
                options,
            )?;
            return Ok((done.lines.into_iter().map(Json::Text).collect(), done.notes));
        }
        _ => {
            let options = EditArgs { dry_run: arguments.flag("dry_run"), force: false };
            let done =
                edit::mv_in(index, root, &arguments.required("from"), &arguments.required("to"), options)?;
            return Ok((done.lines.into_iter().map(Json::Text).collect(), done.notes));
        }
    };
    Ok((answer.rows.json(), answer.notes))
}

/// Returns a page of the rows.
fn page(rows: &[Json], notes: &[String], arguments: &Arguments<'_>) -> Json {
    let limit = arguments.number("limit").unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let offset = (arguments.number("offset").unwrap_or(0)).min(rows.len() as u64) as usize;
    let mut size = 0;
    let fits = |row: &&Json| {
        let first = size == 0;
        size += row.to_string().len();
        first || size <= MAX_ANSWER
    };
    let shown: Vec<Json> = rows[offset..].iter().take(limit).take_while(fits).cloned().collect();
    let end = offset + shown.len();
    let next = if end < rows.len() { Json::from(end) } else { Json::Null };
    let structured = Json::object([
        ("rows", Json::List(shown)),
        ("total", rows.len().into()),
        ("nextOffset", next),
        ("notes", Json::list(notes.iter().map(String::as_str))),
    ]);
    content(&structured.to_string(), Some(structured), false)
}

/// Makes the result of a call: text for all clients, and the same as structured content.
fn content(text: &str, structured: Option<Json>, is_error: bool) -> Json {
    let block = Json::object([("type", "text".into()), ("text", text.into())]);
    let mut members = vec![("content".to_owned(), Json::List(vec![block]))];
    members.extend(structured.map(|structured| ("structuredContent".to_owned(), structured)));
    members.push(("isError".to_owned(), is_error.into()));
    Json::Object(members)
}
