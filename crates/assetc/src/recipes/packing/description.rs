//! Texture descriptions in YAML: the image and channel, or the constant, of each channel of a packed texture. A `.tex` is
//! one, and a slot of a `.mat` can be one. `docs/reference/config/tex.md` documents them.
//!
//! Errors, each with line and column: invalid YAML, unknown keys, values of the wrong type or out of range, a channel that
//! is given twice, and a description without an image, which has no size.

use crate::recipes::yaml_errors::{bad_value, unknown_key};
use kiln_config::yaml::{self, Entry, Node, Scalar, Value};
use kiln_engine::{Code, Diag};
use kiln_texture::Mode;

/// The keys of one channel, red to alpha.
pub(crate) const CHANNELS: [&str; 4] = ["r", "g", "b", "a"];
/// The key of the first three channels together.
pub(crate) const RGB: &str = "rgb";
/// The key of the texture kind, in a `.tex` only: the slot of a material decides it elsewhere.
pub(crate) const KIND: &str = "kind";
/// The keys of an image with options.
pub(crate) const IMAGE_KEYS: [&str; 3] = ["image", "channel", "invert"];
/// The values of `kind`.
pub(crate) const KINDS: [(&str, Mode); 4] = [
    ("color", Mode::Color),
    ("linear", Mode::LinearColor),
    ("normal", Mode::Normal),
    ("grayscale", Mode::Grayscale),
];

/// A parsed texture description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Description {
    /// The declared kind of the texture.
    pub(crate) kind: Option<Mode>,
    /// The origins of red, green, blue and alpha.
    pub(crate) channels: [Channel; 4],
}

/// The origin of a channel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Channel {
    /// The same value in every texel, from 0 to 1.
    Constant(f32),
    /// A channel of an image.
    Image(ImageChannel),
}

/// A channel of an image file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ImageChannel {
    /// The path as the file has it.
    pub(crate) path: String,
    /// The position of the path.
    pub(crate) at: String,
    /// The channel, from 0 (red) to 3 (alpha), if one is named; otherwise red.
    pub(crate) channel: Option<usize>,
    /// Replaces each value `v` by `1 - v`.
    pub(crate) invert: bool,
}

/// Reads a `.tex`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Description, Diag> {
    match read_yaml(bytes, Code::TexSyntax)? {
        Some(node) => parse_node(&node, true),
        None => Err(no_image()),
    }
}

/// Reads YAML from the bytes of a file; `None` if there is no document.
pub(crate) fn read_yaml(bytes: &[u8], syntax: Code) -> Result<Option<Node>, Diag> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Diag::new(syntax, "the file is not valid UTF-8").at(line).hint("save the file as UTF-8")
    })?;
    yaml::parse(text).map_err(|mut diag| {
        diag.code = syntax;
        diag
    })
}

/// Reads a description from a map; `with_kind` allows the key `kind`.
pub(crate) fn parse_node(node: &Node, with_kind: bool) -> Result<Description, Diag> {
    let Value::Map(entries) = &node.value else {
        return match &node.value {
            Value::Scalar(scalar) if scalar.is_null() => Err(no_image()),
            _ => Err(bad(node, "the texture description", "a map with `r`, `g`, `b`, `a` or `rgb`")),
        };
    };
    let mut kind = None;
    let mut channels = [const { None::<Channel> }; 4];
    for entry in entries {
        match entry.key.as_str() {
            KIND if with_kind => kind = Some(read_kind(&entry.node)?),
            KIND => {
                let message = "the slot of the material decides the kind of the texture";
                return Err(Diag::new(Code::ChannelKey, message).at(entry.at).hint("remove 'kind'"));
            }
            RGB => {
                let Channel::Image(image) = read_channel(&entry.node, RGB)? else {
                    return Err(bad(
                        &entry.node,
                        RGB,
                        "the path of an image; `r`, `g` and `b` accept constants",
                    ));
                };
                if image.channel.is_some() {
                    let message = "rgb takes red, green and blue of the image, so it has no 'channel'";
                    let hint = "remove 'channel', or give r, g and b separately";
                    return Err(Diag::new(Code::ChannelValue, message).at(entry.node.at).hint(hint));
                }
                for (index, target) in channels.iter_mut().enumerate().take(3) {
                    set(
                        target,
                        Channel::Image(ImageChannel { channel: Some(index), ..image.clone() }),
                        entry,
                    )?;
                }
            }
            key => match CHANNELS.iter().position(|channel| *channel == key) {
                Some(index) => set(&mut channels[index], read_channel(&entry.node, key)?, entry)?,
                None => {
                    let kind = with_kind.then_some(KIND);
                    let known: Vec<&str> = CHANNELS.into_iter().chain([RGB]).chain(kind).collect();
                    return Err(unknown(entry, &known));
                }
            },
        }
    }
    if !channels.iter().any(|channel| matches!(channel, Some(Channel::Image(_)))) {
        return Err(no_image().at(node.at));
    }
    // As for an image with fewer channels: black and opaque.
    let [r, g, b, a] = channels;
    let or = |channel: Option<Channel>, value| channel.unwrap_or(Channel::Constant(value));
    Ok(Description { kind, channels: [or(r, 0.0), or(g, 0.0), or(b, 0.0), or(a, 1.0)] })
}

fn no_image() -> Diag {
    Diag::new(Code::ChannelValue, "the texture description has no image, so the texture has no size")
        .hint("give the path of an image for a channel, such as 'r: ao.png'")
}

fn set(target: &mut Option<Channel>, channel: Channel, entry: &Entry) -> Result<(), Diag> {
    if target.replace(channel).is_some() {
        let message = "'rgb' gives red, green and blue, and one of them is given by itself, too";
        return Err(Diag::new(Code::ChannelValue, message).at(entry.at).hint("remove one of the keys"));
    }
    Ok(())
}

fn read_kind(node: &Node) -> Result<Mode, Diag> {
    let name = plain_text(node).unwrap_or_default();
    let known = KINDS.iter().find(|(known, _)| *known == name);
    known.map(|(_, mode)| *mode).ok_or_else(|| bad(node, KIND, "`color`, `linear`, `normal`, `grayscale`"))
}

fn read_channel(node: &Node, key: &str) -> Result<Channel, Diag> {
    let accepts = "the path of an image, a number from 0 to 1, or a map with `image`, `channel`, `invert`";
    let image = |path: &str, at: &Node| ImageChannel {
        path: path.to_owned(),
        at: at.at.to_string(),
        channel: None,
        invert: false,
    };
    let entries = match &node.value {
        Value::Scalar(Scalar { text, plain: true }) if text.parse::<f32>().is_ok() => {
            let value = text.parse::<f32>().ok().filter(|value| (0.0..=1.0).contains(value));
            return value.map(Channel::Constant).ok_or_else(|| bad(node, key, accepts));
        }
        Value::Scalar(scalar) if !scalar.is_null() && !scalar.text.is_empty() => {
            return Ok(Channel::Image(image(&scalar.text, node)));
        }
        Value::Map(entries) => entries,
        _ => return Err(bad(node, key, accepts)),
    };
    let mut found = None;
    let (mut channel, mut invert) = (None, false);
    for entry in entries {
        match entry.key.as_str() {
            "image" => {
                let path = plain_text(&entry.node).filter(|path| !path.is_empty());
                let path = path.ok_or_else(|| bad(&entry.node, "image", "the path of an image"))?;
                found = Some(image(path, &entry.node));
            }
            "channel" => {
                let name = plain_text(&entry.node).unwrap_or_default();
                let index = CHANNELS.iter().position(|known| *known == name);
                channel = Some(index.ok_or_else(|| bad(&entry.node, "channel", "`r`, `g`, `b`, `a`"))?);
            }
            "invert" => {
                invert = match plain_text(&entry.node) {
                    Some("true") => true,
                    Some("false") => false,
                    _ => return Err(bad(&entry.node, "invert", "`true`, `false`")),
                }
            }
            _ => return Err(unknown(entry, &IMAGE_KEYS)),
        }
    }
    let found = found.ok_or_else(|| {
        let message = format!("{key} has no 'image'");
        Diag::new(Code::ChannelValue, message).at(node.at).hint("add the path of an image: 'image: ao.png'")
    })?;
    Ok(Channel::Image(ImageChannel { channel, invert, ..found }))
}

fn plain_text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
        _ => None,
    }
}

fn bad(node: &Node, key: &str, accepts: &str) -> Diag {
    bad_value(Code::ChannelValue, node, key, accepts)
}

fn unknown(entry: &Entry, known: &[&str]) -> Diag {
    unknown_key(Code::ChannelKey, entry, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, code: &str, at: &str) -> Diag {
        let error = parse(text.as_bytes()).expect_err(text);
        assert_eq!((error.code.as_str(), error.at.as_deref().unwrap_or_default()), (code, at), "{error}");
        error
    }

    fn image(path: &str, at: &str, channel: Option<usize>, invert: bool) -> Channel {
        Channel::Image(ImageChannel { path: path.into(), at: at.into(), channel, invert })
    }

    #[test]
    fn reads_images_channels_and_constants() {
        let found =
            parse(b"kind: color\nr: ao.png\ng: {image: \"1\", channel: a, invert: true}\nb: 0.25\n").unwrap();
        assert_eq!(found.kind, Some(Mode::Color));
        assert_eq!(
            found.channels,
            [
                image("ao.png", "2:4", None, false),
                image("1", "3:12", Some(3), true),
                Channel::Constant(0.25),
                Channel::Constant(1.0)
            ]
        );
        let found = parse(b"rgb: wall.png\na: 0").unwrap();
        let rgb = |channel| image("wall.png", "1:6", Some(channel), false);
        assert_eq!(found.channels, [rgb(0), rgb(1), rgb(2), Channel::Constant(0.0)]);
        assert_eq!(found.kind, None);
    }

    #[test]
    fn reports_errors_with_line_and_column() {
        refused("", "channel-value", "");
        refused("r: 1\n", "channel-value", "1:1");
        refused("[a]\n", "channel-value", "1:1");
        refused("r: a.png\nr: b.png\n", "tex-syntax", "2:1");
        refused("r: a.png\nx: b.png\n", "channel-key", "2:1");
        refused("r: a.png\ng: 1.5\n", "channel-value", "2:4");
        refused("r: a.png\ng: nan\n", "channel-value", "2:4");
        refused("r: a.png\ng:\n", "channel-value", "2:1");
        refused("r: {image: a.png, channel: x}\n", "channel-value", "1:28");
        refused("r: {image: a.png, invert: yes}\n", "channel-value", "1:27");
        refused("r: {channel: g}\n", "channel-value", "1:4");
        let hint = refused("r: {image: a.png, chanel: g}\n", "channel-key", "1:19").hint;
        assert_eq!(hint.as_deref(), Some("did you mean 'channel'?"));
        refused("rgb: a.png\ng: b.png\n", "channel-value", "2:1");
        refused("rgb: {image: a.png, channel: g}\n", "channel-value", "1:6");
        refused("rgb: 0.5\n", "channel-value", "1:6");
        refused("kind: rgb\nr: a.png\n", "channel-value", "1:7");
        assert_eq!(parse(b"r: a\n\xff").unwrap_err().at.as_deref(), Some("2"));
        let inline = yaml::parse("kind: color\nr: a.png\n").unwrap().unwrap();
        assert_eq!(parse_node(&inline, false).unwrap_err().code, Code::ChannelKey);
    }
}
