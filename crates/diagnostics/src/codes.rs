//! The table of all diagnostic codes. `docs/reference/diagnostics.md` is generated from it:
//! `cargo run -p kiln-diagnostics --example document`.

use crate::Severity;
use std::fmt;
use std::str::FromStr;

/// Declares [`Code`] and its associated functions from one table: sections with an introduction, and for each code its
/// variant, stable name, severity and description.
macro_rules! codes {
    ($($title:literal, $intro:literal { $($variant:ident = $name:literal, $severity:ident, $meaning:literal;)+ })+) => {
        /// A stable identifier of one kind of diagnostic. Its severity never varies, its name never changes with the
        /// wording of a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning] $variant,)+)+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Code] = &[$($(Code::$variant,)+)+];

            /// The sections of the table.
            pub const SECTIONS: &[Section] = &[$(Section {
                title: $title,
                introduction: $intro,
                codes: &[$(Code::$variant,)+],
            },)+];

            /// The name in messages and in JSON, in kebab case.
            pub const fn as_str(self) -> &'static str {
                match self { $($(Code::$variant => $name,)+)+ }
            }

            /// The severity of every diagnostic with this code.
            pub const fn severity(self) -> Severity {
                match self { $($(Code::$variant => Severity::$severity,)+)+ }
            }

            /// The cause and the remedy, in Markdown.
            pub const fn meaning(self) -> &'static str {
                match self { $($(Code::$variant => $meaning,)+)+ }
            }
        }

        impl FromStr for Code {
            type Err = UnknownCode;

            fn from_str(name: &str) -> Result<Code, UnknownCode> {
                match name {
                    $($($name => Ok(Code::$variant),)+)+
                    _ => Err(UnknownCode),
                }
            }
        }
    };
}

codes! {
    "Command line", "" {
        Directory = "directory", Error, "Kiln cannot change to the working directory; check the argument of `-C`.";
        Usage = "usage", Error, "A flag does not apply to this command; see `assetc --help`.";
        Internal = "internal", Error, "An internal error in Kiln; please report it.";
        Stdout = "stdout", Error, "The result could not be written to standard output; free space on the file system that it is redirected to.";
        GraphEmpty = "graph-empty", Error, "There is no build to draw a graph of, or no source depends on the given path; run a build first, or name another path.";
        ExtractName = "extract-name", Error, "A path in the pack is not portable, or two paths are one file on some file systems; `extract` writes nothing. The pack was not written by `assetc`, or is damaged.";
        BudgetExceeded = "budget-exceeded", Error, "The files of a kind are larger than `budget:` in `assetc.yml` allows; make them smaller, or raise the budget.";
        Notify = "notify", Error, "`watch --notify` cannot listen on this address, often because another process already does; choose another address.";
        WatchSignals = "watch-signals", Error, "The system refused to install the Ctrl-C handler of `watch`; please report it.";
        WatchEventsUnavailable = "watch-events-unavailable", Warning, "The system does not deliver file system events for the whole tree (inotify watch limit, permission, network share); changes there are found by polling, a few seconds late.";
        Man = "man", Error, "The manual pages cannot be written; name a writable directory.";
        Threads = "threads", Error, "The system cannot start that many threads; use a smaller `-j`.";
        InitExists = "init-exists", Error, "An `assetc.yml` already exists, and `init` does not overwrite it; edit or remove it.";
        InitFailed = "init-failed", Error, "`assetc.yml`, the input directory or `.gitignore` cannot be written here; check the permissions of the directory.";
        NotASource = "not-a-source", Error, "`explain` was given a file that no recipe processes, or that is part of another source; name the source.";
        UnknownPreset = "unknown-preset", Error, "No preset has this name; the message lists the defined presets.";
        OutputMissing = "output-missing", Error, "There is no build output at this path; build first (with `--pack` for a pack), or name a directory or pack.";
        ReportSince = "report-since", Error, "The page given with `--since` cannot be read or is not a report; name a page that an earlier `assetc report` wrote.";
        CleanKept = "clean-kept", Warning, "A build wrote this file, but it was modified since then, so `clean` kept it; remove it by hand if it is not needed.";
    }
    "Configuration", "See [`assetc.yml`](config/assetc-yml.md) and [`config.yml`](config/user.md)." {
        ConfigUnreadable = "config-unreadable", Error, "The file cannot be read; check its permissions.";
        ConfigSyntax = "config-syntax", Error, "The file is not valid YAML, or uses YAML that `assetc.yml` does not support (one document, UTF-8, spaces, no tags); correct it at the line and column of the message.";
        ConfigTooLarge = "config-too-large", Error, "The file is too large, by itself or after its aliases are expanded; make it smaller, or use fewer aliases.";
        ConfigDuplicateKey = "config-duplicate-key", Error, "A map has a duplicate key; keep one of them.";
        ConfigBadValue = "config-bad-value", Error, "A key does not accept this value; the message lists the accepted values.";
        ConfigUnknownKey = "config-unknown-key", Warning, "Unknown key; check its spelling and its position.";
        ConfigIgnoredKey = "config-ignored-key", Warning, "The key has no effect at this position; move it as the hint says.";
        ConfigRuleWithoutMatch = "config-rule-without-match", Warning, "A rule without `match` is ignored; add a glob.";
        ConfigGlobUnmatched = "config-glob-unmatched", Warning, "A glob of `exclude`, `embed` or a rule matches no source; correct or remove it.";
        ConfigGlobSyntax = "config-glob-syntax", Warning, "A glob contains `**`, which has no meaning of its own here: `*` spans `/`.";
        ConfigStrayFile = "config-stray-file", Warning, "`assetc.yaml` is not read; rename it to `assetc.yml`.";
        UserFileUnsafe = "user-file-unsafe", Warning, "Another user owns a file of the user's configuration directory or can write to it, so the file is ignored; correct its owner and permissions.";
    }
    "Trust", "See [trust](config/assetc-yml.md#trust)." {
        TrustListUnsafe = "trust-list-unsafe", Error, "Another user owns the list of trusted projects or can write to it, so no project is trusted; correct its owner and permissions.";
        UntrustedTools = "untrusted-tools", Warning, "The project names programs under `tools:` but is not trusted, so they are not run; run `assetc trust`, or name them in your [`config.yml`](config/user.md).";
        UntrustedCache = "untrusted-cache", Warning, "A key under `cache:` is ignored because the project is not trusted; the message gives the effect that the key would have.";
        UntrustedCredentials = "untrusted-credentials", Warning, "Only the project names this server of the shared cache, so your credentials are not sent to it; list its host under `cache.credential_hosts` in your [`config.yml`](config/user.md), set `KILN_CACHE_URL`, or run `assetc trust`.";
        UntrustedOutput = "untrusted-output", Error, "The output directory is outside the project or inside a directory of version control such as `.git`, and the project is not trusted; give the output with `-o`, or run `assetc trust`.";
        UntrustedInput = "untrusted-input", Error, "The input directory is outside the project, and the project is not trusted; run `assetc trust`, or change `input:`.";
        UntrustedOwner = "untrusted-owner", Error, "The `assetc.yml` found above the working directory belongs to another user and is in a world-writable directory; write your own, or run `assetc trust`.";
        TrustVariable = "trust-variable", Error, "`KILN_TRUST` is neither `1` nor `0`; correct it.";
    }
    "Directories", "" {
        InputMissing = "input-missing", Error, "The input directory does not exist; create it, or change `input:`.";
        InputNotADirectory = "input-not-a-directory", Error, "`input:` is a file; name a directory.";
        OutputUnsafe = "output-unsafe", Error, "The output directory is the root of the file system, the home directory or the project itself; choose a separate directory.";
        OutputOverlapsInput = "output-overlaps-input", Error, "The output directory contains the input directory or is inside it; use separate directories.";
        OutputNotADirectory = "output-not-a-directory", Error, "The output path is a file; name a directory.";
    }
    "Sources and outputs", "" {
        FileEmpty = "file-empty", Error, "The source file is empty; export or download it again.";
        FileMissing = "file-missing", Error, "The file does not exist; check its path, which is relative to the input directory.";
        ReferencesTooLarge = "references-too-large", Error, "The files that a source references exceed 4 GiB in total; look for a file that is referenced many times.";
        MemoryLimit = "memory-limit", Error, "Decoding or processing the asset would exceed `max_memory` (2 GiB unless set); reduce the asset, or raise the limit with `--max-memory` ([limits](config/user.md#limits)).";
        TimeLimit = "time-limit", Error, "The asset took longer than `max_time` (600 seconds unless set); simplify the asset, or raise the limit with `--time-limit` ([limits](config/user.md#limits)).";
        LfsPointer = "lfs-pointer", Error, "The file is a Git LFS pointer whose content was not fetched; run `git lfs pull`.";
        SourceModified = "source-modified", Error, "The file was modified while it was being read; run the build again when no program writes to it.";
        Unreadable = "unreadable", Error, "The file or directory cannot be read; the message has the error of the operating system.";
        Unwritable = "unwritable", Error, "The file or directory cannot be written or removed; the message has the error of the operating system.";
        JournalUnwritable = "journal-unwritable", Error, "`.assetc-cache` in the output cannot be written; check free space and permissions.";
        SourceShadowed = "source-shadowed", Warning, "A layered document, an animation or a precompressed texture (`.psd`, `.tif`, `.gif`, `.qoi`, `.ktx2`, `.dds`) has the same output as another source, usually the image that was exported from it, so it is left out; `exclude` it to remove the warning.";
        TextureRole = "texture-role", Warning, "An image is compiled as sRGB colour, but its name or its texels are those of a normal map or of another data map; set `texture.suffixes: extended`, or `texture.kind` in a rule (`color` if it is one).";
        TextureDepth = "texture-depth", Warning, "A source with 16 bits per channel becomes a texture with 8; set `texture.depth: auto` and `texture.compress: false` to keep 16 bits of greyscale, normal and linear maps.";
        TextureFormat = "texture-format", Error, "`texture.format` cannot hold this kind of image: BC4 holds one channel, BC5 two, BC6H an HDR image. Set `texture.target`, which chooses by the kind of the image, or another format in a rule.";
        TextureAlpha = "texture-alpha", Warning, "The image has alpha that its format drops: BC1 has one bit of alpha, BC6H none. Use `bc3` or `bc7`, or `raw` for an HDR image.";
        TextureSize = "texture-size", Warning, "Textures are larger together than `texture.size_target`, with the largest RDO lambda and the smallest scale of `texture.min_scale`.";
        TextureQuality = "texture-quality", Warning, "A texture does not reach the target of `texture.quality`, even without RDO and with the highest effort; the message has the value that it reaches.";
        TexturePassthrough = "texture-passthrough", Error, "A `.ktx2` source is damaged, so it cannot be passed through; export or download it again.";
        TextureForeign = "texture-foreign", Warning, "A `.ktx2` source has a format that Kiln does not write, such as ETC1S, so nothing is written for it; models that refer to it are not affected. Set `texture.precompressed: reencode`, copy it unchanged with `embed`, or `exclude` it.";
        OutputNotOwned = "output-not-owned", Error, "A file exists at the path of an output, no recorded build wrote it, and it is neither of the output's format nor identical to the output; it was not overwritten. Move it away, or replace it with `--overwrite`; see [existing files](config/assetc-yml.md#existing-files-in-the-output).";
        OutputNotRegular = "output-not-regular", Error, "A symbolic link, pipe, socket or device is at the path of an output; such files are never followed or replaced. Remove it, or choose another output.";
        OutputConflict = "output-conflict", Error, "Two sources write the same output, or outputs whose names differ only in case (`straße` and `STRASSE`), Unicode normalization (NFC and NFD) or ignorable characters and are one file on many file systems, so both fail; rename one of them.";
        SymlinkIgnored = "symlink-ignored", Warning, "A symbolic link points to a directory, out of the tree or to a missing file, and was ignored; copy its target into the tree.";
        PathNotUtf8 = "path-not-utf8", Warning, "The file name is not UTF-8, so the file was ignored; rename it.";
        PathNotPortable = "path-not-portable", Warning, "The file name is invalid on some platforms, so the file was ignored; rename it.";
        WindowsName = "windows-name", Warning, "Windows cannot use the name of the source, and so of its output: the name of a device (`con`, `aux`, `nul`, `com1`, with any extension), a trailing dot or space, or a character such as `?` or `*`. Rename the source, or set `lints: { windows-name: allow }` if the game never runs there.";
        ActionPanicked = "action-panicked", Error, "An internal error in Kiln while it processed this source; please report it with the file. Other sources are not affected.";
        Cancelled = "cancelled", Error, "The run was interrupted by Ctrl-C, `SIGTERM`, or a program that uses Kiln as a library; finished results are kept. Run the command again to build the others.";
        ActionLost = "action-lost", Error, "An internal error in Kiln: an action ended without a result; please report it.";
    }
    "The cache", "See [the cache](cache.md)." {
        CacheUnwritable = "cache-unwritable", Warning, "Results cannot be written to the cache directory; check its permissions and free space, or choose another directory.";
        CacheDirLink = "cache-dir-link", Warning, "The cache directory has a symbolic link in place of a directory or file of the cache, so the cache is not used and the link is not followed. Remove the link, or set `KILN_CACHE_DIR` to another directory.";
        CacheDirNotOwned = "cache-dir-not-owned", Warning, "The directory given for the cache is not empty and has no `CACHEDIR.TAG` of Kiln, so the cache is not used; set `KILN_CACHE_DIR` to an empty or new directory.";
        CacheEntryRejected = "cache-entry-rejected", Warning, "The cache has entries that no build of their source could have stored, such as an entry that names the output of another asset, or a damaged file; the message has the key of the first. They were not used, and were evicted from the local cache; see [untrusted servers](cache.md#untrusted-servers).";
        CacheEntryUnsigned = "cache-entry-unsigned", Warning, "The server has records without a valid signature by `KILN_CACHE_SIGNING_KEY`; the message has the key of the first. They were not used; give every writer the same key, see [signing](cache.md#signing).";
        RemoteExecution = "remote-execution", Warning, "The server of `--remote-execution` is unreachable, stalls, has no workers that can run this program, or returned an invalid result, and was disabled for the rest of this build; the assets were built locally. See [remote execution](remote-execution.md).";
        RemoteExecutionAddress = "remote-execution-address", Error, "The URL of `--remote-execution` contains a secret, is not encrypted, or is malformed, or this program was built without the feature `reapi`. See [remote execution](remote-execution.md).";
        CacheServer = "cache-server", Warning, "The shared cache is unreachable, stalls, is full, returns mostly damaged objects or is slower than building, and was disabled for the rest of this build; the results were built locally.";
        CacheDamagedObject = "cache-damaged-object", Warning, "The shared cache returned objects whose content does not match their keys; the message has the first keys and the count. The results were built locally. A build with `KILN_CACHE_POLICY=write` replaces the objects.";
        CacheUploadTooLarge = "cache-upload-too-large", Warning, "The shared cache rejected uploads as too large; raise its limit (nginx: `client_max_body_size`), or set `KILN_CACHE_MAX_BLOB` below it.";
        CacheVariable = "cache-variable", Error, "An environment variable `KILN_CACHE…` has an invalid value; the message has the variable and the accepted values.";
        CacheAddress = "cache-address", Error, "The URL of the shared cache contains a secret, is not encrypted, or is malformed; see [the server](cache.md#a-server).";
        CacheDisabled = "cache-disabled", Error, "`assetc cache` needs the cache, which is disabled; set `KILN_CACHE_DIR` to a directory.";
        ShardWithoutCache = "shard-without-cache", Error, "`--shard` requires a shared cache, because the other machines read the results of a shard from it; enable the cache.";
    }
    "Images", "" {
        ImageUnknown = "image-unknown", Error, "The content is not an image in a supported format, whatever its extension; save it as PNG, JPEG, TGA, BMP, WebP, QOI, GIF, TIFF or PSD, and HDR images as Radiance HDR or OpenEXR.";
        ImageKind = "image-kind", Error, "A KTX texture in a model is a cubemap, an array or a volume; a material needs a 2D texture.";
        ImageCorrupt = "image-corrupt", Error, "The image data is inconsistent or fails a checksum; export or download it again.";
        ImageTruncated = "image-truncated", Error, "Unexpected end of file; export or download it again.";
        ImageTooLarge = "image-too-large", Error, "The image has more pixels than `max_pixels` (16384 x 16384 unless set), or a side longer than that of the largest square; scale the image down, or raise the limit with `--max-pixels` ([limits](config/user.md#limits)).";
        ImageUnsupported = "image-unsupported", Error, "A variant of the format that is not supported; save it in a common variant, or as PNG.";
        ImageExtension = "image-extension", Warning, "The content is of another format than the extension, and was decoded by its content; rename the file.";
        ImageOrientation = "image-orientation", Warning, "The image was rotated as its EXIF orientation says; save it upright, because not every tool reads EXIF.";
        ImageAnimated = "image-animated", Warning, "Only the first frame of an animation is used; save that frame as a still image.";
        ImageCmyk = "image-cmyk", Warning, "CMYK was converted to RGB without its colour profile; save the image as RGB.";
        HdrClamped = "hdr-clamped", Warning, "An HDR image has values that are NaN, infinite or out of range for half floats, and they were clamped; reduce its exposure.";
    }
    "Cubemaps and arrays", "" {
        CubemapFaceMissing = "cubemap-face-missing", Error, "A `*.env/` folder needs the images `px`, `nx`, `py`, `ny`, `pz` and `nz`; add the faces that the message lists.";
        CubemapFaceDuplicate = "cubemap-face-duplicate", Error, "A cubemap face exists in two formats; remove one of them.";
        CubemapFaceShape = "cubemap-face-shape", Error, "A cubemap face is not square; export all six as squares.";
        CubemapFaceSize = "cubemap-face-size", Error, "The cubemap faces differ in size; export them in one size.";
        EnvironmentShape = "environment-shape", Error, "A `*.env.hdr` or `*.env.exr` has an aspect ratio other than 2:1; export it as an equirectangular panorama.";
        ArrayEmpty = "array-empty", Error, "A `*.array/` folder contains no image; add its layers.";
        ArrayLayerSize = "array-layer-size", Error, "The layers of a texture array differ in size; export them in one size.";
        FolderStrayFile = "folder-stray-file", Warning, "The folder of a cubemap or texture array contains other files, which are ignored; move them out.";
    }
    "Lookup tables", "" {
        CubeEncoding = "cube-encoding", Error, "The LUT is not a text file; export it again as `.cube`.";
        CubeSyntax = "cube-syntax", Error, "A line cannot be parsed; correct it, or export the LUT again.";
        CubeSize = "cube-size", Error, "`LUT_3D_SIZE` is missing or not between 2 and 256; export the LUT with size 33 or 65.";
        CubeCount = "cube-count", Error, "The LUT has more or fewer entries than its size requires; export it again.";
        Cube1d = "cube-1d", Error, "1D LUTs are not supported; export a 3D LUT.";
        CubeDomain = "cube-domain", Warning, "The domain of the LUT is not 0 to 1; scale colours before the lookup, or export it for 0 to 1.";
        CubeKeyword = "cube-keyword", Warning, "An unknown keyword was ignored; no action is needed if it is metadata of the program that wrote the file.";
        LutClamped = "lut-clamped", Warning, "Values outside 0 to 1 were clamped; set `lut.depth: float16` to keep them.";
    }
    "Fonts", "" {
        FontUnknown = "font-unknown", Error, "The content is not a TrueType or OpenType font; export or download it again.";
        FontNoOutlines = "font-no-outlines", Error, "The font has no outlines, or they cannot be read; bitmap fonts are not supported.";
        FontOutline = "font-outline", Error, "The outline of a glyph is damaged or has too many segments; export the font again, or leave the character out.";
        FontEmpty = "font-empty", Error, "The font has none of the requested characters; change `font.charset`.";
        FontTooLarge = "font-too-large", Error, "The glyphs do not fit an atlas of 8192 texels, or take too much time to generate; lower `font.size`, or request fewer characters.";
        FontMissingCharacters = "font-missing-characters", Warning, "The font lacks characters that `font.charset` lists explicitly; remove them from the list, or use another font.";
        FontKerning = "font-kerning", Warning, "The kerning table is damaged and was ignored; export or download the font again.";
        Font = "font", Error, "An internal error in Kiln; please report it with the file.";
    }
    "glTF models", "Locations are JSON pointers: `/meshes/0/primitives/2`." {
        GltfContainer = "gltf-container", Error, "The `.glb` container is truncated or damaged; export or download it again.";
        GltfVersion = "gltf-version", Error, "The file is not glTF 2, or its `minVersion` is later than 2.0; export it as glTF 2.0.";
        GltfJson = "gltf-json", Error, "The JSON is malformed at the line and column of the message; export the model again.";
        GltfValue = "gltf-value", Error, "A property is missing, has the wrong type or is out of range; export the model again.";
        GltfReference = "gltf-reference", Error, "An index refers to an element that the file does not contain; export the model again.";
        GltfExtensionRequired = "gltf-extension-required", Error, "The file requires an extension that is not supported; export it without the extension.";
        GltfUri = "gltf-uri", Error, "A URI is malformed or points out of the project; refer to a file inside the project by a relative path.";
        GltfBuffer = "gltf-buffer", Error, "A buffer has no data or less than its `byteLength`, or a buffer view exceeds its buffer; export the model again.";
        GltfAccessor = "gltf-accessor", Error, "An accessor exceeds its buffer view, or has the wrong type for its use; export the model again.";
        GltfCompression = "gltf-compression", Error, "Draco or meshopt data is damaged or of an unsupported version; export the model again.";
        GltfIndex = "gltf-index", Error, "A triangle has a vertex index out of range; export the model again.";
        GltfNotFinite = "gltf-not-finite", Error, "A number is infinite or NaN; look for degenerate geometry, and export the model again.";
        GltfTooLarge = "gltf-too-large", Error, "The decoded model would take far more memory than its files, or its nodes are nested too deeply; check for a damaged file.";
        GltfModel = "gltf-model", Error, "The node hierarchy has a cycle or is nested too deeply, or parts of the model are inconsistent; export the model again.";
        GltfScenes = "gltf-scenes", Warning, "Only one scene of the file is imported; export the other scenes as separate files.";
        GltfNoTriangles = "gltf-no-triangles", Warning, "Points, lines and empty primitives were ignored; no action is needed if they are not meant to be rendered.";
        GltfTooFewVertices = "gltf-too-few-vertices", Warning, "Primitives have fewer than three vertices or indices, so they have no triangle and were dropped; look for loose vertices and edges in the source.";
        GltfUv = "gltf-uv", Warning, "A texture uses a UV set or a texture transform that differs from the others of its material; give all textures of a material one UV set and one transform.";
        GltfTexture = "gltf-texture", Warning, "A texture has no image in a supported format and was ignored; save it as PNG or JPEG.";
        GltfMaterial = "gltf-material", Warning, "Materials have extensions that `.hmat` does not support; the message lists them, once for the model. See [glTF support](gltf.md).";
        GltfSpecularGlossiness = "gltf-specular-glossiness", Warning, "Materials use `KHR_materials_pbrSpecularGlossiness` only and were converted to metallic-roughness, which cannot represent coloured reflections of dielectrics; convert the materials in the source if they look wrong.";
        GltfKeyframeOrder = "gltf-keyframe-order", Warning, "The keyframes of an animation were not in order and were sorted; export the model again.";
        GltfInfluences = "gltf-influences", Warning, "Vertices have more than four bone influences and keep the four with the largest weights; limit the influences in the modelling program.";
        GltfAttributeType = "gltf-attribute-type", Warning, "A vertex attribute uses `UNSIGNED_INT`, which glTF allows for indices only; export it as bytes, shorts or floats.";
        GltfPositionBounds = "gltf-position-bounds", Warning, "The accessor of a `POSITION` attribute lacks `min` and `max`. The bounds are computed from the positions; export the model again, because other readers may reject it.";
        GltfJointSets = "gltf-joint-sets", Warning, "`JOINTS_n` and `WEIGHTS_n` do not come in pairs. Sets from the first incomplete pair on are ignored; export the model again.";
        GltfAttributeName = "gltf-attribute-name", Warning, "A vertex attribute has a name that glTF does not define, or its set number does not continue the previous sets; number sets from 0 without gaps, and start the names of custom attributes with an underscore.";
        GltfPrimitiveRestart = "gltf-primitive-restart", Warning, "The largest value of the index type is used as an index. It is read as a vertex index, but graphics APIs treat it as primitive restart; export wider indices.";
        GltfSkinWithoutJoints = "gltf-skin-without-joints", Warning, "A node has a skin, but a primitive of its mesh lacks `JOINTS_0` or `WEIGHTS_0` and is not skinned; remove the skin, or assign bone influences.";
        GltfDoubleTransform = "gltf-double-transform", Warning, "A node has a `matrix` and also `translation`, `rotation` or `scale`. The matrix is used; remove one of them.";
        GltfVersionForm = "gltf-version-form", Warning, "`asset.version` is not a major and a minor version. The file is read as glTF 2.0; write `2.0`.";
        GltfExtensionUnlisted = "gltf-extension-unlisted", Warning, "`extensionsRequired` names an extension that `extensionsUsed` does not list; list it in both, or in neither.";
        GltfAccessorBounds = "gltf-accessor-bounds", Warning, "`min` or `max` of an accessor differs from its elements. The elements are used; export the model again, because other readers may cull or clip by these bounds.";
        GltfAnimationBounds = "gltf-animation-bounds", Warning, "The accessor of an animation sampler's `input` lacks `min` and `max`. The length is computed from the keys; export the model again, because other readers may reject it.";
        GltfRotationLength = "gltf-rotation-length", Warning, "A rotation is not a quaternion of unit length; normalize it in the source.";
        GltfNormalLength = "gltf-normal-length", Warning, "A normal is not of unit length; normalize normals in the source.";
        GltfMatrixShear = "gltf-matrix-shear", Warning, "The `matrix` of a node is not a product of a translation, a rotation and a scale. It is used as it is; apply the transform in the source.";
        GltfAnimatedMatrix = "gltf-animated-matrix", Warning, "An animation moves a node that has a `matrix`; export its transform as translation, rotation and scale.";
        GltfDataIgnored = "gltf-data-ignored", Warning, "The file contains data that the output formats do not support; the message lists it, once for the model. See [glTF support](gltf.md).";
        GltfExtensionUnknown = "gltf-extension-unknown", Warning, "The file uses unknown extensions that it does not require; no action is needed if the model looks right.";
        GltfExtensionDropped = "gltf-extension-dropped", Warning, "A glTF output cannot keep an extension that refers to accessors or buffer views of the source; no action is needed if nothing reads the extension.";
        GltfTextureKept = "gltf-texture-kept", Warning, "An image of a glTF output is not converted to KTX2 and stays as it is, because `KHR_texture_basisu` requires a width and height that are multiples of 4, or the image has an unsupported format; resize the image, or set `mesh.gltf_textures` to `keep`.";
        GltfSecondSkin = "gltf-second-skin", Warning, "Only the first skin of a model is kept: meshes of other skins stay in their bind pose, and skins that no drawn mesh uses are not exported. Merge the skins, or export them as separate models.";
        Mesh = "mesh", Error, "The geometry cannot be processed or written; the message has the reason.";
        MeshTooLarge = "mesh-too-large", Error, "Instances multiply the model beyond the limits of the file format; use fewer instances, or instance in the engine.";
        MeshEmpty = "mesh-empty", Warning, "The model has no triangles, so no output is written; check for a missing mesh, or remove the model from the input directory.";
        MeshNormals = "mesh-normals", Warning, "Normals are zero or NaN and were recomputed from the adjacent faces; recalculate normals in the modelling program.";
        MeshTangents = "mesh-tangents", Warning, "Tangents are zero or NaN and were recomputed; export without tangents, or correct them.";
        MeshTangentsSplit = "mesh-tangents-split", Warning, "The tangents of the source prevent most vertices from being shared, and were recomputed; `mesh.tangents: keep` keeps them.";
        MeshNoTangents = "mesh-no-tangents", Warning, "A normal map needs tangents, but the primitive has no UVs to compute them from; add UVs.";
        MeshInfluences = "mesh-influences", Warning, "Vertices have more than four bone influences and keep the four with the largest weights; limit the influences in the modelling program.";
        MeshZeroWeights = "mesh-zero-weights", Warning, "Skinned vertices have zero joint weights and are bound to the first joint; paint weights in the modelling program.";
        SkeletonShear = "skeleton-shear", Warning, "Ancestors of joints have a non-uniform scale, which a joint cannot represent; apply the scale of those nodes in the modelling program.";
        Animation = "animation", Error, "The animation clips cannot be written; the message has the reason.";
        AnimationCubic = "animation-cubic", Warning, "Cubic spline keyframes were converted to linear ones; `animation.cubic: resample` follows the curves.";
        AnimationNotJoint = "animation-not-joint", Warning, "Animation channels that target nodes other than joints of the first skin were ignored; bake their motion into joints.";
        MatSyntax = "mat-syntax", Error, "The `.mat` is not valid YAML or not UTF-8; the message has the line and column.";
        MatKey = "mat-key", Error, "Unknown key in a `.mat`; the hint has the nearest known key.";
        MatValue = "mat-value", Error, "A value of a `.mat` has the wrong type or is out of range, or the file defines no material.";
        MatTexture = "mat-texture", Error, "An image that a `.mat` references is not in the input directory; give its path relative to the file, or from the root with a leading slash.";
        TexSyntax = "tex-syntax", Error, "The `.tex` is not valid YAML or not UTF-8; the message has the line and column.";
        ChannelKey = "channel-key", Error, "Unknown key in a texture description, in a `.tex` or in a slot of a `.mat`; the hint has the nearest known key.";
        ChannelValue = "channel-value", Error, "A value of a texture description has the wrong type or is out of range, or no channel has an image.";
        ChannelImage = "channel-image", Error, "An image that a texture description references is not in the input directory or cannot be decoded; give its path relative to the file, or from the root with a leading slash.";
        ChannelSize = "channel-size", Error, "The images of a packed texture have different aspect ratios; export them with one aspect ratio.";
        ChannelResized = "channel-resized", Warning, "An image of a packed texture is smaller than the largest one and was resized with a bilinear filter; export all images in one size.";
        ChannelAmbiguous = "channel-ambiguous", Warning, "A colour image is used for one channel without `channel`, and its red channel was taken; name the channel.";
        Material = "material", Error, "The material table cannot be written; the message has the reason.";
        Scene = "scene", Error, "The scene of a model cannot be written; the message has the reason.";
        MaterialConflict = "material-conflict", Warning, "Two materials of a model have the same reference, so engines cannot distinguish them; rename one.";
        TextureConflict = "texture-conflict", Warning, "An image is used both as colour (sRGB) and as data (linear); the first use decides, unless `texture.conflict` is `split`.";
    }
    "OBJ models", "Locations are line numbers of the `.obj` file, or of the `.mtl` file in the message." {
        ObjSyntax = "obj-syntax", Error, "A line cannot be parsed, or a number is infinite or NaN; correct it, or export the model again.";
        ObjIndex = "obj-index", Error, "A face has a vertex index out of range; export the model again.";
        ObjTooLarge = "obj-too-large", Error, "The file has more elements than an index can address; split the model.";
        ObjModel = "obj-model", Error, "An internal error in Kiln; please report it with the file.";
        ObjLibrary = "obj-library", Warning, "A `.mtl` file is missing or outside the project, so default materials are used; copy it beside the model.";
        ObjMaterialUnknown = "obj-material-unknown", Warning, "Materials that no library defines become default materials; name their library with `mtllib`.";
        ObjTexture = "obj-texture", Warning, "An image is missing or outside the project and was ignored; copy it into the project.";
        ObjMaterial = "obj-material", Warning, "A material has properties that `.hmat` does not support; the message lists what was ignored.";
        ObjVertexColours = "obj-vertex-colours", Warning, "Vertex colours were ignored; bake them into a texture to keep them.";
        ObjNoTriangles = "obj-no-triangles", Warning, "Points, lines and faces with fewer than three vertices were ignored; no action is needed if they are not meant to be rendered.";
        ObjFreeForm = "obj-free-form", Warning, "Free-form curves and surfaces were ignored; export the model as polygons.";
        ObjKeyword = "obj-keyword", Warning, "Unknown statements were ignored; no action is needed if the model looks right.";
        ObjFace = "obj-face", Warning, "Polygons have too many vertices for a good triangulation; triangulate them in the modelling program.";
    }
    "FBX models", "" {
        FbxFeature = "fbx-feature", Warning, "This build has no FBX support, so no output is written for the model; build `assetc` with `--features fbx`, or export the model as glTF.";
        FbxFormat = "fbx-format", Error, "The file is not an FBX file; export it again, or rename it.";
        FbxDamaged = "fbx-damaged", Error, "The file is inconsistent or truncated; export it again.";
        FbxModel = "fbx-model", Error, "The file describes an invalid model; export it again.";
        FbxTooLarge = "fbx-too-large", Error, "The decoded model would take far more memory than its file, or a clip has too many layers; export it again.";
        FbxTooDeep = "fbx-too-deep", Error, "Nodes are nested 256 or more levels deep; check for a cycle of parents.";
        FbxRepaired = "fbx-repaired", Warning, "The file has an error that was repaired; the message describes it. No action is needed if the model looks right.";
        FbxTexture = "fbx-texture", Warning, "An image is missing or outside the project and was ignored; copy it beside the model, or embed images when exporting.";
        FbxMaterial = "fbx-material", Warning, "A material has properties that `.hmat` does not support; the message lists what was ignored.";
        FbxUv = "fbx-uv", Warning, "The textures of a material use different UV sets or transforms, and all use those of the first; give them one UV set and one transform.";
        FbxInfluences = "fbx-influences", Warning, "Vertices have more than four bone influences and keep the four with the largest weights; limit the influences in the modelling program.";
        FbxNoTriangles = "fbx-no-triangles", Warning, "Faces with fewer than three vertices were ignored; no action is needed if they are not meant to be rendered.";
        FbxFace = "fbx-face", Warning, "Polygons have too many vertices for a good triangulation; triangulate them in the modelling program.";
        FbxDataIgnored = "fbx-data-ignored", Warning, "The file contains data that models do not support; the message lists it.";
    }
    "Shaders", "Locations are line numbers of the source or of an included file." {
        ShaderNoStage = "shader-no-stage", Error, "No file of a `*.shader/` folder is named after a stage; name it `vertex.glsl`, `x.frag` and so on.";
        ShaderStageDuplicate = "shader-stage-duplicate", Error, "Two files of a shader folder are for the same stage; remove or rename one.";
        ShaderCompile = "shader-compile", Error, "The compiler rejected the source; the message has the first error and its source line, the hint the errors after it.";
        ShaderWarning = "shader-warning", Warning, "A warning of the shader compiler about the source.";
        ShaderEncoding = "shader-encoding", Error, "The source is not UTF-8, or contains a NUL byte; save it as UTF-8.";
        ShaderInclude = "shader-include", Error, "An include points out of the project, is recursive, or cannot be resolved; include files of the input directory.";
        ShaderLanguage = "shader-language", Error, "This build of Kiln has no compiler for the language; build it with the feature `glsl`.";
        ShaderToolMissing = "shader-tool-missing", Error, "A program that the source or `shader.optimize` needs was not found; the hint says how to install it.";
        EmbedReserved = "embed-reserved", Error, "A file given by `embed` has the name of a file that the build writes; rename it, or remove it from the list.";
        ShaderCompiler = "shader-compiler", Error, "glslang or naga crashed, ran out of memory or missed its deadline on this source, or the worker process that runs them could not be started; look for very long or deeply nested expressions and statements and for macros that expand into each other.";
        ShaderVariable = "shader-variable", Error, "`KILN_SHADER_TIMEOUT` is not a number of seconds between 0.001 and 86400, or `KILN_SHADER_MEMORY` is not a size of at least 1 GB.";
        ShaderTool = "shader-tool", Error, "An external program failed, crashed or timed out; try another version of it.";
        ShaderHlsl = "shader-hlsl", Error, "The built-in compiler cannot compile this HLSL to a valid module; install `dxc` or `slangc`.";
        ShaderUnvalidated = "shader-unvalidated", Warning, "HLSL was compiled by the built-in compiler, and no validator was found; install `dxc`, `slangc` or `spirv-val`.";
        ShaderModule = "shader-module", Error, "A `.spv` in the folder, or the output of a compiler, is not a valid SPIR-V module of its stage; compile it again.";
        Shader = "shader", Error, "The output cannot be named after the folder; rename the folder.";
        Scratch = "scratch", Error, "No temporary directory could be created for an external program; check the directory for temporary files.";
    }
    "Results", "" {
        Texture = "texture", Error, "The texture cannot be encoded with these settings; the message has the reason.";
        Manifest = "manifest", Error, "Two files have the same hash in `assets.hman`; rename one of the sources.";
        Pack = "pack", Error, "The output cannot be packed: it contains a symbolic link, a name that a pack does not support, a file that was modified after the build, or a file with the extension of a runtime format that no build wrote and that is not valid; remove or rename it, or build again with `--verify`.";
        PackUnowned = "pack-unowned", Warning, "The output directory has a file that no source of the project writes, and the pack holds it, too; remove the file, or leave such files out with `pack_unowned: false`.";
        Verify = "verify", Error, "`--verify` read back different bytes than were written; check for a failing disk, or report a bug in Kiln.";
    }
    "Damaged output", "Reported by `assetc check` for an output directory or a pack, and by `info` and `pack info` for a pack that cannot be read at all." {
        CheckCorrupt = "check-corrupt", Error, "The file is corrupt; build again with `--verify`, or pack again with `--pack`.";
        CheckModified = "check-modified", Error, "The file was modified since it was written; build again with `--verify`.";
        CheckMissing = "check-missing", Error, "An output file is missing; build again.";
        CheckOrphan = "check-orphan", Error, "No source of the project writes this runtime file; remove it, or keep it outside the output.";
        CheckJournal = "check-journal", Error, "`.assetc-cache` is damaged or truncated, so outputs cannot be compared with it; build again.";
        CheckBuildFailed = "check-build-failed", Error, "The last build failed for this source, or was interrupted, so outputs are missing or those of an earlier build; correct the source and build again.";
        ManifestMissingFile = "manifest-missing-file", Error, "The manifest lists a file that does not exist; build again.";
        ManifestWrongHash = "manifest-wrong-hash", Error, "A manifest entry has a hash that does not match its path; build again.";
        ManifestAmbiguousHash = "manifest-ambiguous-hash", Error, "Two manifest entries have the same hash; rename one of the sources and build again.";
        MeshWithoutMaterials = "mesh-without-materials", Error, "The mesh has materials, but no `.hmat` with its name exists; build again.";
        MeshMaterialCount = "mesh-material-count", Error, "The mesh and its `.hmat` differ in the number of materials; build again.";
        MaterialWithoutManifest = "material-without-manifest", Warning, "A material references a texture by a hash that no texture of the directory has, and there is no `assets.hman` that lists it; build again or, for files that `assetc convert` wrote, convert the texture, too.";
        MaterialUnknownTexture = "material-unknown-texture", Error, "A texture of a material is not in the manifest; build again.";
        MaterialMissingTexture = "material-missing-texture", Error, "A texture of a material is in the manifest, but its file does not exist; build again.";
        FontWithoutManifest = "font-without-manifest", Warning, "A font references its atlas by a hash that no texture of the directory has, and there is no `assets.hman` that lists it; build or convert the font again.";
        FontUnknownAtlas = "font-unknown-atlas", Error, "The atlas of a font is not in the manifest; build again.";
        FontMissingAtlas = "font-missing-atlas", Error, "The atlas of a font is in the manifest, but its file does not exist; build again.";
        FontAtlasSize = "font-atlas-size", Error, "The size of the atlas differs from the size in the font; build again.";
        AnimationWithoutSkeleton = "animation-without-skeleton", Error, "No mesh with a skeleton exists beside the animations; build again.";
        AnimationUnknownJoint = "animation-unknown-joint", Error, "An animation channel targets a joint that the skeleton does not have; build again.";
        SceneUnknownSubmesh = "scene-unknown-submesh", Error, "A node of a scene draws submeshes that the mesh beside it does not have; build again.";
        MaterialExtensionCount = "material-extension-count", Error, "The `.hmatx` and the `.hmat` beside it differ in the number of materials; build again.";
    }
    "Unity projects", "Reported by [`unity-assetdb`](unity-assetdb.md). A bake repeats its warnings until their cause is fixed; `check` adds diagnostics that only matter before a project is shared." {
        UnityOutputOutside = "unity-output-outside", Error, "A symbolic link in the path of `Library/unity-assetdb` points out of the project; remove the link, or name the directory with `--out-dir`.";
        UnityProject = "unity-project", Error, "The directory is not in a Unity project, which has `Assets` and `ProjectSettings`; change to one, or name it with `--project`.";
        UnityIndex = "unity-index", Error, "The index is missing, damaged or of another version; run `unity-assetdb bake`.";
        UnityBake = "unity-bake", Error, "The index cannot be written; the message has the error of the operating system.";
        UnityInput = "unity-input", Error, "A file given on the command line cannot be read or is not a database.";
        UnityDuplicateGuid = "unity-duplicate-guid", Error, "Several assets have the same GUID; give all but one of them a new `.meta`.";
        UnityDuplicateObject = "unity-duplicate-object", Error, "Two documents of an asset have the same fileID, class and name, which a merge has left; remove one of them.";
        UnityAmbiguousName = "unity-ambiguous-name", Error, "Several assets have the same name and type and cannot be distinguished; rename one of them.";
        UnityMetaEmpty = "unity-meta-empty", Warning, "A `.meta` is empty, so the asset has no row; restore it, or let Unity write it again.";
        UnityMetaGuid = "unity-meta-guid", Warning, "A `.meta` has no GUID, a malformed GUID or two GUIDs; restore it, or let Unity write it again.";
        UnityBom = "unity-bom", Warning, "A `.meta` or an asset in YAML starts with a byte order mark; save it as UTF-8 without one.";
        UnityCrlf = "unity-crlf", Warning, "`.meta` files or assets have CRLF line endings: one warning for all, with their count and the first; configure Git to check them out with LF.";
        UnityNotUtf8 = "unity-not-utf8", Warning, "A `.meta` or a name in an asset is not UTF-8; save it as UTF-8.";
        UnityNameNotUtf8 = "unity-name-not-utf8", Warning, "A file name is not UTF-8, so the file was ignored; rename it.";
        UnityMergeConflict = "unity-merge-conflict", Warning, "The file has merge conflict markers; resolve the conflict.";
        UnityLfsPointer = "unity-lfs-pointer", Warning, "The asset is a Git LFS pointer whose content was not fetched, so its sub-objects have no names; run `git lfs pull`.";
        UnityUnreadable = "unity-unreadable", Warning, "A file or folder cannot be read; the message has the error of the operating system.";
        UnityIo = "unity-io", Error, "The system failed to read a file or folder of the project (failing disk, out of memory), so the bake was aborted and the old index kept; fix the system error and bake again.";
        UnityModelUnreadable = "unity-model-unreadable", Warning, "The names inside a model cannot be read; export it again.";
        UnityOrphanMeta = "unity-orphan-meta", Warning, "A `.meta` has no asset; remove it, or restore the asset.";
        UnityMissingMeta = "unity-missing-meta", Warning, "An asset has no `.meta`; let Unity write one and commit it.";
        UnityPlaceholderGuid = "unity-placeholder-guid", Warning, "A GUID looks hand-written, so another project may use the same; let Unity generate one.";
        UnityBrokenGuid = "unity-broken-guid", Error, "A reference has a GUID that no asset has; restore the asset with its `.meta`, or remove the reference.";
        UnityBrokenObject = "unity-broken-object", Error, "A reference points to an asset that does not contain the object; repair or remove it.";
        UnityUnknownGuid = "unity-unknown-guid", Warning, "A reference has a GUID that no asset here has; the asset may be in a package that is not installed on this machine.";
        UnityUnknownObject = "unity-unknown-object", Warning, "A reference points into a prefab whose base prefab or model is not on this machine (Git LFS, package cache), so the object may exist; fetch the base to know.";
        UnityLeftoverOverride = "unity-leftover-override", Warning, "A prefab instance overrides objects that its prefab no longer contains. Unity ignores such overrides; remove them with *Unused overrides* in the editor.";
        UnityRemovedAsset = "unity-removed-asset", Error, "A reference points to an asset that the project's Git history contains and that was removed, or whose GUID was changed; restore the asset with its `.meta`, or update the reference.";
        UnityInvalidGuid = "unity-invalid-guid", Error, "The GUID of a `.meta` is not 32 lower-case hexadecimal digits, or is in the range of Unity's built-in resources; restore the `.meta`, or let Unity write it again.";
        UnityUnusableMeta = "unity-unusable-meta", Error, "A `.meta` has no GUID that Unity accepts, so Unity writes a new one and all references to the asset break; restore the `.meta` from version control.";
        UnityUnmergedFile = "unity-unmerged-file", Error, "The file has merge conflict markers, so Unity cannot load it; resolve the conflict.";
        UnityUnreadableRoot = "unity-unreadable-root", Error, "`unused` starts from scenes and settings, and one of them cannot be read (Git LFS pointer, binary serialization), so that every asset behind it would be listed; run `git lfs pull`, or use text serialization.";
        UnityBaseline = "unity-baseline", Error, "The baseline of `check` cannot be read or written, or a line of it is malformed; write it again with `--update-baseline`.";
        UnityIgnoreFile = "unity-ignore-file", Error, "The ignore file of `check` cannot be read, or a line has an unknown code or an invalid glob; the message has the line.";
        UnityDirty = "unity-dirty", Error, "`replace` and `mv` refuse to change files that have uncommitted changes, which Git could not restore; commit first, or pass `--force`.";
        UnityWrite = "unity-write", Error, "A file of the project cannot be written or moved; the message has the error of the operating system.";
        UnityGit = "unity-git", Error, "A command needs Git, and `git` failed or the directory is in no work tree; the message has the output of `git`.";
    }
    "Paks", "See [paks](pak.md)." {
        PakSyntax = "pak-syntax", Error, "A description is not valid TOML; the message has the position of the syntax error. A duplicate table is a syntax error.";
        PakTable = "pak-table", Error, "A description has no asset table or several, or a content file has no `[content]`; give it exactly one.";
        PakField = "pak-field", Warning, "An unknown field in a table is ignored; the hint has the nearest known field. `--deny pak-field` makes it an error.";
        PakValue = "pak-value", Error, "A value has the wrong type or is out of range; the message has the accepted values.";
        PakNoMatch = "pak-no-match", Warning, "A glob matches no file; globs are relative to the root. `--deny pak-no-match` makes it an error.";
        PakEuler = "pak-euler", Warning, "`euler` gives the order in which the angles about x, y and z are applied; `pak` 0.7 assigned the angles to the axes in that order. Check the rotation, or write a quaternion.";
        PakTangents = "pak-tangents", Warning, "Tangents require normals: with `normals = false` none are stored; remove `tangents = true`.";
        PakPath = "pak-path", Error, "A path points out of the root; move the file below it.";
        PakMissing = "pak-missing", Error, "A referenced file, mesh, material or image does not exist; the hint lists the existing ones.";
        PakKind = "pak-kind", Error, "A path refers to an asset of the wrong kind.";
        PakCycle = "pak-cycle", Error, "Descriptions reference each other in a cycle, or in a chain that is too long; the message has the chain.";
        PakKey = "pak-key", Error, "Two files have the same key; rename or exclude one.";
        PakFont = "pak-font", Error, "The definition of a bitmap font is damaged, or a page is missing; export it again.";
        PakAnimation = "pak-animation", Error, "The requested animation is not in the file.";
        PakAnimationEmpty = "pak-animation-empty", Warning, "An animation has no channels left; check `exclude`, and the channels of the source.";
        PakExclude = "pak-exclude", Warning, "`exclude` names a target that the animation does not have; check its spelling.";
        PakMesh = "pak-mesh", Error, "The triangles of a source cannot be processed with these settings; the message has the reason.";
        PakMaterials = "pak-materials", Warning, "A scene reference lists fewer materials than its mesh has material slots, and the other slots have the default material; list one for each slot.";
        PakSwizzle = "pak-swizzle", Warning, "Block-compressed normal maps store X and Y regardless of `swizzle`; remove it.";
        PakFormat = "pak-format", Error, "An asset exceeds the limits of the file format; the message has the field.";
        PakDamaged = "pak-damaged", Error, "A pak is damaged; bake it again, or copy it again.";
        PakSound = "pak-sound", Error, "The source of a `[sound]` is not a valid Ogg Vorbis, Ogg Opus, MP3, WAV or FLAC file; export it again.";
        PakKeyFile = "pak-key-file", Error, "A key file cannot be read or does not contain a key of this kind; `pak keygen` creates a secret key and a public key.";
        PakSignature = "pak-signature", Error, "The signature of a pak is missing, not valid, or by another key; do not use the pak.";
        PakPatch = "pak-patch", Error, "A patch cannot be applied to this pak, or is not a patch; apply it to the pak that it was made for.";
        PakUnknownKey = "pak-unknown-key", Error, "The pak does not contain this key; `pak list` lists all keys.";
        PakExtract = "pak-extract", Error, "An asset cannot be written below the given folder: its key is not a path, or a symbolic link points out of the folder.";
    }
}

/// A section of the table of codes.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Markdown between the heading and the table; may be empty.
    pub introduction: &'static str,
    /// The codes of the section.
    pub codes: &'static [Code],
}

/// The error of parsing a string that is not the name of a [`Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown diagnostic code")
    }
}

impl std::error::Error for UnknownCode {}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Renders the table as the text of `docs/reference/diagnostics.md`.
pub fn document() -> String {
    let mut text = include_str!("codes.md").to_owned();
    for section in Code::SECTIONS {
        text.push_str(&format!("\n## {}\n\n", section.title));
        if !section.introduction.is_empty() {
            text.push_str(&format!("{}\n\n", section.introduction));
        }
        text.push_str("| Code | Severity | Meaning; what to do |\n|---|---|---|\n");
        for code in section.codes {
            text.push_str(&format!("| `{code}` | {} | {} |\n", code.severity(), code.meaning()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_kebab_case_unique_and_parse_back() {
        let mut names = BTreeSet::new();
        for &code in Code::ALL {
            let word = |word: &str| {
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            };
            assert!(code.as_str().split('-').all(word), "{code}");
            assert!(names.insert(code.as_str()), "{code} is there twice");
            assert_eq!(code.as_str().parse(), Ok(code));
            assert!(code.meaning().len() > 10 && code.meaning().ends_with('.'), "{code}");
        }
        assert_eq!("Usage".parse::<Code>(), Err(UnknownCode));
    }
}
