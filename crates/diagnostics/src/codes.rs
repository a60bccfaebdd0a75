//! The table of all diagnostic codes. `docs/diagnostics.md` is generated from it:
//! `cargo run -p kiln-diagnostics --example document`.

use crate::Severity;
use std::fmt;
use std::str::FromStr;

/// Declares [`Code`] and everything derived from its table: sections with an introduction, and in each the codes with
/// their stable names, severities and meanings.
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
        Directory = "directory", Error, "The directory to work in cannot be entered; check `-C`.";
        Usage = "usage", Error, "A flag does not belong to this command; see `assetc --help`.";
        Internal = "internal", Error, "A defect of Kiln; please report it.";
        Stdout = "stdout", Error, "The result could not be written to standard output; see to free space where it goes.";
        GraphEmpty = "graph-empty", Error, "Nothing was built yet, or the path has to do with no source; build first, or name another.";
        Notify = "notify", Error, "`watch --notify` cannot listen there, often because another watch does; choose another address.";
        WatchSignals = "watch-signals", Error, "The system does not let `watch` wait for Ctrl-C; please report it.";
        WatchDeaf = "watch-deaf", Warning, "The system does not tell of all changes (a limit, a permission, a network share); they are found a few seconds late.";
        Man = "man", Error, "The manual pages cannot be written; name a directory that can be written to.";
        Threads = "threads", Error, "The system refuses that many threads; use a smaller `-j`.";
        InitExists = "init-exists", Error, "There is an `assetc.yml` already, and `init` leaves it alone; edit it, or remove it first.";
        InitFailed = "init-failed", Error, "`assetc.yml` cannot be written here; see to the directory's permissions.";
        NotASource = "not-a-source", Error, "`explain` was asked about something that no recipe takes, or that is part of another source; name the source.";
        UnknownPreset = "unknown-preset", Error, "No preset has this name; the message lists those there are.";
        OutputMissing = "output-missing", Error, "There is nothing to look at yet; build first (with `--pack` for a pack), or name a directory or pack.";
        ReportSince = "report-since", Error, "The page given with `--since` cannot be read, or is no report; name one that an earlier `assetc report` wrote.";
        CleanKept = "clean-kept", Warning, "A build wrote this file, but it was changed since, so `clean` left it; remove it by hand if it is not needed.";
    }
    "Configuration", "See [`assetc.yml`](config/assetc-yml.md) and [`config.yml`](config/user.md)." {
        ConfigUnreadable = "config-unreadable", Error, "The file cannot be read; see to its permissions.";
        ConfigSyntax = "config-syntax", Error, "The text is not YAML as `assetc.yml` uses it (one document, UTF-8, spaces, no tags); correct the place that is named.";
        ConfigTooLarge = "config-too-large", Error, "The file is huge, or its aliases make it so; write less, or fewer aliases.";
        ConfigDuplicateKey = "config-duplicate-key", Error, "A key is given twice in one map; keep one of them.";
        ConfigBadValue = "config-bad-value", Error, "A key does not accept this value; the message says what it accepts.";
        ConfigUnknownKey = "config-unknown-key", Warning, "Nobody reads this key here; correct its spelling or its place.";
        ConfigIgnoredKey = "config-ignored-key", Warning, "The key has no meaning in this place; move it as the hint says.";
        ConfigRuleWithoutMatch = "config-rule-without-match", Warning, "A rule without `match` is skipped; give it a glob.";
        UserFileUnsafe = "user-file-unsafe", Warning, "Someone else owns a file of the user's configuration directory or may write to it, so that it is ignored; see to its owner and permissions.";
    }
    "Trust", "See [trust](config/assetc-yml.md#trust)." {
        TrustListUnsafe = "trust-list-unsafe", Error, "Someone else owns the list of trusted projects or may write to it, so that no project can be trusted; see to its owner and permissions.";
        UntrustedTools = "untrusted-tools", Warning, "The project names programs under `tools:` and is not trusted, so that they are not run; run `assetc trust`, or name them in your [`config.yml`](config/user.md).";
        UntrustedCache = "untrusted-cache", Warning, "A key under `cache:` is ignored, because the project is not trusted; the message says what the key would do.";
        UntrustedCredentials = "untrusted-credentials", Warning, "Only the project names this server of the shared cache, so that it gets none of your credentials; list its host under `cache.credential_hosts` in your [`config.yml`](config/user.md), set `KILN_CACHE_URL`, or run `assetc trust`.";
        UntrustedOutput = "untrusted-output", Error, "The project writes outside its directory, or into `.git` and its like, and is not trusted; name the output with `-o`, or run `assetc trust`.";
        UntrustedInput = "untrusted-input", Error, "The project reads outside its directory and is not trusted; run `assetc trust`, or change `input:`.";
        UntrustedOwner = "untrusted-owner", Error, "The `assetc.yml` above the working directory belongs to another user and lies where everyone may put files; write one of your own, or run `assetc trust`.";
        TrustVariable = "trust-variable", Error, "`KILN_TRUST` is neither `1` nor `0`; correct it.";
    }
    "Directories", "" {
        InputMissing = "input-missing", Error, "The source directory is not there; create it, or change `input:`.";
        InputNotADirectory = "input-not-a-directory", Error, "`input:` names a file; name a directory.";
        OutputUnsafe = "output-unsafe", Error, "The output would be the root of the file system, the home directory or the project itself; choose a directory of its own.";
        OutputOverlapsInput = "output-overlaps-input", Error, "The output lies in the input or around it; keep them apart.";
        OutputNotADirectory = "output-not-a-directory", Error, "The output names a file; name a directory.";
    }
    "Sources and outputs", "" {
        FileEmpty = "file-empty", Error, "The source has no content; export or download it again.";
        FileMissing = "file-missing", Error, "The file is not there; check its name, which is relative to the input directory.";
        ReferencesTooLarge = "references-too-large", Error, "The files that a source refers to have more than 4 GiB together; look for a file that is named again and again.";
        MemoryLimit = "memory-limit", Error, "Decoding or processing the asset would take more memory than `max_memory` admits (2 GiB unless set); make it smaller, or raise the limit with `--max-memory` ([limits](config/user.md#limits)).";
        TimeLimit = "time-limit", Error, "The asset took longer than `max_time` (600 seconds unless set); make it simpler, or raise the limit with `--time-limit` ([limits](config/user.md#limits)).";
        LfsPointer = "lfs-pointer", Error, "Git LFS did not fetch the content; run `git lfs pull`.";
        SourceChanging = "source-changing", Error, "The file changed while it was read; build again when nothing writes to it.";
        Unreadable = "unreadable", Error, "The file or directory cannot be read; the message has the system's reason.";
        Unwritable = "unwritable", Error, "The file or directory cannot be written or removed; the message has the system's reason.";
        JournalUnwritable = "journal-unwritable", Error, "`.assetc-cache` in the output cannot be written; see to free space and permissions.";
        OutputNotOwned = "output-not-owned", Error, "A file is at the path of an output, no recorded build wrote it, and its content is neither of the output's format nor equal; it was left as it is. Move it away, or replace it with `--overwrite`; see [existing files](config/assetc-yml.md#existing-files-in-the-output).";
        OutputNotRegular = "output-not-regular", Error, "A symbolic link, a pipe, a socket or a device is at the path of an output; such files are never followed or replaced. Remove it, or choose another output.";
        OutputConflict = "output-conflict", Error, "Two sources write one output, or two whose names differ only in case (`straße` and `STRASSE`), Unicode normalization (NFC and NFD) or ignorable characters and are one file on many systems, and neither may win by chance; rename one of them.";
        LinkIgnored = "link-ignored", Warning, "A link leads to a directory, out of the tree or nowhere, and was passed over; copy what it leads to.";
        PathNotUtf8 = "path-not-utf8", Warning, "The name is not UTF-8 and was passed over; rename the file.";
        PathNotPortable = "path-not-portable", Warning, "The name would not work on every system and was passed over; rename the file.";
        CookPanicked = "cook-panicked", Error, "A defect of Kiln that this source brought out; please report it with the file. Other sources are not affected.";
        Stopped = "stopped", Error, "A run that was cancelled by a program that uses Kiln as a library; what was done stays.";
        CookLost = "cook-lost", Error, "A defect of Kiln; please report it.";
    }
    "The cache", "See [the cache](cache.md)." {
        StoreUnwritable = "store-unwritable", Warning, "Results cannot be kept in the directory that is named; see to its permissions and to free space, or name another one.";
        CacheDirLink = "cache-dir-link", Warning, "The cache directory has a symbolic link where a cache has a directory or a file of its own, and is not used: whatever is behind the link is not touched. Remove the link, or name another directory in `KILN_CACHE_DIR`.";
        CacheDirNotOwned = "cache-dir-not-owned", Warning, "The directory that is named as cache has files in it and no `CACHEDIR.TAG` of Kiln, and is not used; name an empty or new directory in `KILN_CACHE_DIR`.";
        CacheEntryRejected = "cache-entry-rejected", Warning, "The cache has entries that no build of their source could have stored, such as one that names the output of another asset or a damaged file; the first is named by its key. They were not used, and were removed from the local cache; see [untrusted servers](cache.md#untrusted-servers).";
        CacheEntryUnsigned = "cache-entry-unsigned", Warning, "The server has records that `KILN_CACHE_SIGNING_KEY` did not sign; the first is named by its key. They were not used; give all who write the same key, see [signing](cache.md#signing).";
        CacheServer = "cache-server", Warning, "The shared cache is unreachable, stalls, is full, has mostly damaged objects or is slower than building, and was not used any more in this build; its results were built here.";
        CacheDamagedObject = "cache-damaged-object", Warning, "The shared cache has objects that are not what their keys say; the message names the first ones and their number. Their results were built here. A build with `KILN_CACHE_POLICY=write` replaces the objects.";
        CacheUploadTooLarge = "cache-upload-too-large", Warning, "The shared cache refused uploads as too large; raise its limit (nginx: `client_max_body_size`), or set `KILN_CACHE_MAX_BLOB` below it.";
        CacheVariable = "cache-variable", Error, "A variable `KILN_CACHE…` of the environment has a value that it does not accept; the message says which and what.";
        CacheAddress = "cache-address", Error, "The address of the shared cache has a secret in it, is not encrypted, or is none; see [the server](cache.md#a-server).";
        CacheOff = "cache-off", Error, "`assetc cache` was asked about a store that is switched off; name a directory in `KILN_CACHE_DIR`.";
        ShardWithoutStore = "shard-without-store", Error, "A part of a build would be made for nobody, because there is no store to put it into; do not switch it off.";
    }
    "Images", "" {
        ImageUnknown = "image-unknown", Error, "The content is not an image that can be read, whatever the name says; save it as PNG, JPEG, TGA, BMP or WebP, and HDR images as Radiance HDR or OpenEXR.";
        ImageKind = "image-kind", Error, "A KTX texture in a model is a cubemap, an array or a volume; a material needs a single image.";
        ImageCorrupt = "image-corrupt", Error, "The content contradicts itself or a checksum is wrong; export or download it again.";
        ImageTruncated = "image-truncated", Error, "The file ends too early; export or download it again.";
        ImageTooLarge = "image-too-large", Error, "The image has more pixels than `max_pixels` admits (16384 x 16384 unless set), or a side longer than that of the largest square; scale the image down, or raise the limit with `--max-pixels` ([limits](config/user.md#limits)).";
        ImageUnsupported = "image-unsupported", Error, "A rare variant of the format; save it in a common one, or as PNG.";
        ImageExtension = "image-extension", Warning, "The content is of another format than the extension says, and was decoded as what it is; rename it.";
        ImageOrientation = "image-orientation", Warning, "The image was turned as its EXIF block says; save it upright, because not every tool does that.";
        ImageAnimated = "image-animated", Warning, "Only the first image of an animation is used; save the one you want as a still image.";
        ImageCmyk = "image-cmyk", Warning, "The colours were turned into RGB without their profile; save the image as RGB.";
        LightClamped = "light-clamped", Warning, "Values of an HDR image are not numbers, or too bright for half floats, and were clamped; scale its brightness down.";
    }
    "Cubemaps and arrays", "" {
        CubemapFaceMissing = "cubemap-face-missing", Error, "A `*.env/` folder needs the images `px`, `nx`, `py`, `ny`, `pz` and `nz`; add those the message lists.";
        CubemapFaceTwice = "cubemap-face-twice", Error, "A face is there in two formats; remove one of them.";
        CubemapFaceShape = "cubemap-face-shape", Error, "A face is not square; export the six as squares.";
        CubemapFaceSize = "cubemap-face-size", Error, "The faces differ in size; export them in one.";
        EnvironmentShape = "environment-shape", Error, "A `*.env.hdr` or `*.env.exr` is not twice as wide as high; export it as an equirectangular panorama.";
        ArrayEmpty = "array-empty", Error, "A `*.array/` folder has no image; add its layers.";
        ArrayLayerSize = "array-layer-size", Error, "The layers differ in size; export them in one.";
        FolderStrayFile = "folder-stray-file", Warning, "The folder of a cubemap or array holds other files, which are passed over; move them out.";
    }
    "Lookup tables", "" {
        CubeEncoding = "cube-encoding", Error, "The table is not text; export it again as `.cube`.";
        CubeSyntax = "cube-syntax", Error, "A line makes no sense; correct it, or export the table again.";
        CubeSize = "cube-size", Error, "`LUT_3D_SIZE` is missing or not from 2 to 256; export the table with 33 or 65 steps.";
        CubeCount = "cube-count", Error, "The table has more or fewer entries than its size needs; export it again.";
        Cube1d = "cube-1d", Error, "One-dimensional tables are not supported; export a three-dimensional one.";
        CubeDomain = "cube-domain", Warning, "The table is not for colours from 0 to 1; scale colours before the lookup, or export it for 0 to 1.";
        CubeKeyword = "cube-keyword", Warning, "An unknown keyword was skipped; nothing to do if it is a remark of the program that wrote it.";
        LutClamped = "lut-clamped", Warning, "Values outside 0 to 1 were clamped; set `lut.depth: float16` to keep them.";
    }
    "Fonts", "" {
        FontUnknown = "font-unknown", Error, "The content is not a TrueType or OpenType font; export or download it again.";
        FontNoOutlines = "font-no-outlines", Error, "The font has no outlines, or they cannot be read; fonts of bitmaps cannot be used.";
        FontOutline = "font-outline", Error, "The outline of a glyph is damaged or far too intricate; export the font again, or leave the character out.";
        FontEmpty = "font-empty", Error, "The font has none of the characters that were asked for; change `font.charset`.";
        FontTooLarge = "font-too-large", Error, "The glyphs do not fit an atlas of 8192 texels, or are far too much work; lower `font.size`, or take fewer characters.";
        FontMissingCharacters = "font-missing-characters", Warning, "Characters that `font.charset` spells out are not in the font; leave them out, or use another font.";
        FontKerning = "font-kerning", Warning, "The kerning is damaged and left out; export or download the font again.";
        Font = "font", Error, "A defect of Kiln; please report it with the file.";
    }
    "glTF models", "Places are JSON pointers: `/meshes/0/primitives/2`." {
        GltfContainer = "gltf-container", Error, "The `.glb` file is cut off or damaged; export or download it again.";
        GltfVersion = "gltf-version", Error, "The file is not glTF 2, or its `minVersion` is later than 2.0; export it as glTF 2.0.";
        GltfJson = "gltf-json", Error, "The text is not JSON; the place is a line and a column. Export the model again.";
        GltfValue = "gltf-value", Error, "A value is missing, of the wrong kind or out of range; export the model again.";
        GltfReference = "gltf-reference", Error, "A number names something that is not in the file; export the model again.";
        GltfExtensionRequired = "gltf-extension-required", Error, "The file cannot be understood without an extension that is not known; export it without.";
        GltfUri = "gltf-uri", Error, "A reference is broken, or leads out of the project; refer to a file inside it by a relative path.";
        GltfBuffer = "gltf-buffer", Error, "A buffer that is used has no data or less than it states, or a view does not fit into it; export the model again.";
        GltfAccessor = "gltf-accessor", Error, "Elements do not fit into their view, or are not of the type that is needed; export the model again.";
        GltfCompression = "gltf-compression", Error, "Draco or meshopt data is damaged or of a newer kind; export the model again.";
        GltfIndex = "gltf-index", Error, "A triangle uses a vertex that is not there; export the model again.";
        GltfNotFinite = "gltf-not-finite", Error, "A number is infinite or none at all; look for degenerate geometry, and export the model again.";
        GltfTooLarge = "gltf-too-large", Error, "The model would take far more memory than its files, or is nested too deep; look for a damaged file.";
        GltfModel = "gltf-model", Error, "Nodes are their own ancestors or nested too deep, or the parts contradict each other; export the model again.";
        GltfScenes = "gltf-scenes", Warning, "Only one scene of the file is taken; export the others as files of their own.";
        GltfNoTriangles = "gltf-no-triangles", Warning, "Points, lines and empty parts were passed over; nothing to do if they are not meant to be drawn.";
        GltfUv = "gltf-uv", Warning, "A texture does not get the coordinates it asks for; give all textures of a material one set and one transform.";
        GltfTexture = "gltf-texture", Warning, "A texture has no image that can be read, and is left out; save it as PNG or JPEG.";
        GltfMaterial = "gltf-material", Warning, "A material says more than `.hmat` can hold; the message lists what is left out.";
        GltfKeyOrder = "gltf-key-order", Warning, "Keys of an animation were out of order, and were sorted; export the model again.";
        GltfInfluences = "gltf-influences", Warning, "Vertices hang on more than four joints, and keep the strongest four; limit them where the model is made.";
        GltfAttributeType = "gltf-attribute-type", Warning, "A vertex attribute uses `UNSIGNED_INT`, which glTF allows for indices only; export it as bytes, shorts or floats.";
        GltfPositionBounds = "gltf-position-bounds", Warning, "The accessor of a `POSITION` attribute lacks `min` and `max`. The bounds are computed from the positions; export the model again, because other readers may reject it.";
        GltfJointSets = "gltf-joint-sets", Warning, "`JOINTS_n` and `WEIGHTS_n` do not come in pairs. Sets from the first incomplete pair on are ignored; export the model again.";
        GltfAttributeName = "gltf-attribute-name", Warning, "A vertex attribute has a name that glTF does not define, or its set does not follow those before it; number sets from 0 without gaps, and begin the names of other attributes with an underscore.";
        GltfPrimitiveRestart = "gltf-primitive-restart", Warning, "The largest value of the index type is used as an index. It is read as the number of a vertex, but graphics APIs take it for primitive restart; export wider indices.";
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
        GltfNotKept = "gltf-not-kept", Warning, "The file holds things that the results have no room for; the message lists them.";
        GltfExtensionUnknown = "gltf-extension-unknown", Warning, "The file uses extensions that are not known and not required; nothing to do if it looks right.";
        GltfSecondSkin = "gltf-second-skin", Warning, "Only the first skin of a model is kept; what hangs on others stands still in its bind pose. Join the skins, or export them as models of their own.";
        Mesh = "mesh", Error, "The geometry cannot be processed or written; the message says what is wrong with it.";
        MeshTooLarge = "mesh-too-large", Error, "Instances multiply the model beyond what a file can hold; draw fewer, or instance in the engine.";
        MeshEmpty = "mesh-empty", Warning, "The model draws no triangle, so nothing is written for it; look for a missing mesh, or take it out of the source tree.";
        MeshNormals = "mesh-normals", Warning, "Normals are zero or no numbers, and come from the faces around them; recalculate normals where the model is made.";
        MeshTangents = "mesh-tangents", Warning, "Tangents are zero or no numbers, and were recomputed; export without tangents, or repair them.";
        MeshTangentsApart = "mesh-tangents-apart", Warning, "The source's tangents keep most vertices from being shared, and were recomputed; `mesh.tangents: keep` keeps them.";
        MeshNoTangents = "mesh-no-tangents", Warning, "A normal map needs tangents, and there are no texture coordinates to make them from; unwrap the part.";
        MeshInfluences = "mesh-influences", Warning, "Vertices hang on more than four joints, and keep the strongest four; limit them where the model is made.";
        MeshSecondUv = "mesh-second-uv", Warning, "`.hmesh` has room for one set of texture coordinates; bake what the second is for, or keep it in another model.";
        MeshWeightless = "mesh-weightless", Warning, "Vertices of a skin have no weight, and hang on the first joint; paint weights where the model is made.";
        SkeletonShear = "skeleton-shear", Warning, "Nodes above joints scale unevenly, which a joint cannot; apply the scale of those nodes in the source.";
        Animation = "animation", Error, "The clips cannot be written; the message says why.";
        AnimationCubic = "animation-cubic", Warning, "Cubic splines became straight lines between their keys; `animation.cubic: resample` follows the curves.";
        AnimationNotJoint = "animation-not-joint", Warning, "Channels move nodes that are no joints of the first skin, and were left out; bake their motion into joints.";
        MatSyntax = "mat-syntax", Error, "The `.mat` is not YAML, or not UTF-8; the place is a line and a column.";
        MatKey = "mat-key", Error, "Nobody knows this key of a `.mat`; the hint has the nearest one.";
        MatValue = "mat-value", Error, "A value of a `.mat` is of the wrong kind or out of range, or there is no material in it.";
        MatTexture = "mat-texture", Error, "An image that a `.mat` names is not in the source tree; name one relative to the file, or from the root with a leading slash.";
        Material = "material", Error, "The table of materials cannot be written; the message says why.";
        MaterialClash = "material-clash", Warning, "Two materials of a model have one reference, so that engines cannot tell them apart; rename one.";
        TextureConflict = "texture-conflict", Warning, "One image is used as colour and as data; the first use decides, unless `texture.conflict` is `split`.";
    }
    "OBJ models", "Places are lines of the `.obj` file, or of the `.mtl` file that is named." {
        ObjSyntax = "obj-syntax", Error, "A line makes no sense, or a number is infinite or none at all; correct it, or export the model again.";
        ObjIndex = "obj-index", Error, "A face uses a vertex that the file does not have; export the model again.";
        ObjTooLarge = "obj-too-large", Error, "The file has more of something than can be numbered; split the model.";
        ObjModel = "obj-model", Error, "A defect of Kiln; please report it with the file.";
        ObjLibrary = "obj-library", Warning, "A `.mtl` file is not there or lies outside the project, so materials are plain; copy it beside the model.";
        ObjMaterialUnknown = "obj-material-unknown", Warning, "Materials that no library defines are plain; name the library that has them with `mtllib`.";
        ObjTexture = "obj-texture", Warning, "An image is not there or lies outside the project, and is left out; copy it into the project.";
        ObjMaterial = "obj-material", Warning, "A material says more than `.hmat` can hold; the message lists what is left out.";
        ObjColours = "obj-colours", Warning, "Colours of vertices were passed over; bake them into a texture to keep them.";
        ObjNoTriangles = "obj-no-triangles", Warning, "Points, lines and faces of less than three corners were passed over; nothing to do if they are not meant to be drawn.";
        ObjFreeForm = "obj-free-form", Warning, "Curves and surfaces were passed over; export the model as polygons.";
        ObjKeyword = "obj-keyword", Warning, "Unknown statements were passed over; nothing to do if the model looks right.";
        ObjFace = "obj-face", Warning, "Faces have too many corners to be cut well; cut them up where the model is made.";
    }
    "FBX models", "" {
        FbxFeature = "fbx-feature", Warning, "FBX is not built in, and nothing is written for the model; build `assetc` with `--features fbx`, or export the model as glTF.";
        FbxFormat = "fbx-format", Error, "This is no FBX file; export it again, or rename it.";
        FbxDamaged = "fbx-damaged", Error, "The file contradicts itself or ends too early; export it again.";
        FbxModel = "fbx-model", Error, "The file makes a model that cannot be; export it again.";
        FbxTooLarge = "fbx-too-large", Error, "The model would take far more memory than its file, or a clip has too many layers; export it again.";
        FbxTooDeep = "fbx-too-deep", Error, "Nodes lie in each other 256 deep and more; look for a ring of parents.";
        FbxRepaired = "fbx-repaired", Warning, "The file has a fault that could be mended, which the message tells; nothing to do if the model looks right.";
        FbxTexture = "fbx-texture", Warning, "An image is not there or lies outside the project, and is left out; copy it beside the model, or embed images when exporting.";
        FbxMaterial = "fbx-material", Warning, "A material says more than `.hmat` can hold; the message lists what is left out.";
        FbxUv = "fbx-uv", Warning, "The textures of a material use different coordinates, and all get those of the first; give them one set and one transform.";
        FbxInfluences = "fbx-influences", Warning, "Vertices hang on more than four joints and keep the strongest four; limit them where the model is made.";
        FbxNoTriangles = "fbx-no-triangles", Warning, "Faces of less than three corners were passed over; nothing to do if they are not meant to be drawn.";
        FbxFace = "fbx-face", Warning, "Faces have too many corners to be cut well; cut them up where the model is made.";
        FbxNotKept = "fbx-not-kept", Warning, "The file has things that models cannot hold; the message lists them.";
    }
    "Shaders", "The place is a line of the source or of a file that it includes." {
        ShaderNoStage = "shader-no-stage", Error, "No file of a `*.shader/` folder is named after a stage; call it `vertex.glsl`, `x.frag` and so on.";
        ShaderStageTwice = "shader-stage-twice", Error, "Two files of a folder are for one stage; remove or rename one.";
        ShaderCompile = "shader-compile", Error, "The compiler refuses the source; the message has its words and the source line, the hint the errors after it.";
        ShaderWarning = "shader-warning", Warning, "The compiler has something to say about the source.";
        ShaderEncoding = "shader-encoding", Error, "The source is not UTF-8, or holds a zero byte; save it as UTF-8.";
        ShaderInclude = "shader-include", Error, "An include leads out of the project, in a circle, or nowhere that could be known; include files of the input directory.";
        ShaderLanguage = "shader-language", Error, "This build of Kiln was made without the compiler for the language; build it with the feature `glsl`.";
        ShaderToolMissing = "shader-tool-missing", Error, "A program that the source or `shader.optimize` needs was not found; the hint says how to get it.";
        EmbedReserved = "embed-reserved", Error, "A file that `embed` names would take the place of one that the build writes; rename it, or leave it out.";
        ShaderCompiler = "shader-compiler", Error, "glslang or naga crashed, ran out of memory or missed its deadline on this source, or the worker process that runs them could not be started; look for very long or deeply nested expressions and statements and for macros that expand into each other.";
        ShaderVariable = "shader-variable", Error, "`KILN_SHADER_TIMEOUT` is no number of seconds from 0.001 to 86400, or `KILN_SHADER_MEMORY` no size of at least 1 GB.";
        ShaderTool = "shader-tool", Error, "A program failed, crashed or did not end; try another version of it.";
        ShaderHlsl = "shader-hlsl", Error, "Kiln's own compiler cannot make a valid module of this HLSL; install `dxc` or `slangc`.";
        ShaderUnchecked = "shader-unchecked", Warning, "HLSL was compiled by Kiln's own compiler and nothing was there to validate it; install `dxc`, `slangc` or `spirv-val`.";
        ShaderModule = "shader-module", Error, "A `.spv` in the folder, or what a compiler wrote, is not a sound module of its stage; compile it again.";
        Shader = "shader", Error, "The output cannot be named; rename the folder.";
        Scratch = "scratch", Error, "There is no room for a program to work in; see to the directory for temporary files.";
    }
    "Results", "" {
        Texture = "texture", Error, "The texture cannot be encoded or laid out with these settings; the message has the reason.";
        Manifest = "manifest", Error, "Two files would have one hash in `assets.hman`; rename one of the sources.";
        Pack = "pack", Error, "The output cannot be packed: a link or a name in it that a pack cannot hold; remove or rename it.";
        Verify = "verify", Error, "`--verify` read something other than what was written; look for a failing disk, or report a defect of Kiln.";
    }
    "Damage", "What `assetc check` finds, in an output directory or a pack. `info` and `pack info` report a pack that cannot be read at all in the same way." {
        CheckBroken = "check-broken", Error, "The file is not sound in itself; build again with `--verify`, or pack again with `--pack`.";
        CheckChanged = "check-changed", Error, "The file is not the one that was written; build again with `--verify`.";
        CheckMissing = "check-missing", Error, "A file that was written is gone; build again.";
        CheckOrphan = "check-orphan", Error, "A runtime file that nothing in the project writes; remove it, or keep it outside the output.";
        CheckJournal = "check-journal", Error, "`.assetc-cache` is damaged or cut off, so files cannot be compared with it; build again.";
        ManifestMissingFile = "manifest-missing-file", Error, "The manifest names a file that is not there; build again.";
        ManifestWrongHash = "manifest-wrong-hash", Error, "An entry of the manifest has a hash that is not that of its path; build again.";
        ManifestAmbiguousHash = "manifest-ambiguous-hash", Error, "Two entries of the manifest have one hash; rename one of the sources and build again.";
        MeshWithoutMaterials = "mesh-without-materials", Error, "The mesh has materials, but there is no `.hmat` of its name; build again.";
        MeshMaterialCount = "mesh-material-count", Error, "Mesh and `.hmat` disagree on the number of materials; build again.";
        MaterialWithoutManifest = "material-without-manifest", Error, "Textures are named by hash, but there is no `assets.hman`; build again.";
        MaterialUnknownTexture = "material-unknown-texture", Error, "A texture of a material is not in the manifest; build again.";
        MaterialMissingTexture = "material-missing-texture", Error, "The manifest names a texture of a material that is not there; build again.";
        FontWithoutManifest = "font-without-manifest", Error, "The atlas of a font is named by hash, but there is no `assets.hman`; build again.";
        FontUnknownAtlas = "font-unknown-atlas", Error, "The atlas of a font is not in the manifest; build again.";
        FontMissingAtlas = "font-missing-atlas", Error, "The manifest names the atlas of a font, which is not there; build again.";
        FontAtlasSize = "font-atlas-size", Error, "The atlas is not of the size that the font was made for; build again.";
        AnimationWithoutSkeleton = "animation-without-skeleton", Error, "There is no mesh with a skeleton beside the animations; build again.";
        AnimationUnknownJoint = "animation-unknown-joint", Error, "A channel moves a joint that the skeleton does not have; build again.";
    }
    "Unity projects", "What [`unity-assetdb`](unity-assetdb.md) says. A bake repeats its warnings until their cause is gone; `check` adds what only matters before a project is shared." {
        UnityOutputOutside = "unity-output-outside", Error, "A link in the path of `Library/unity-assetdb` leads out of the project; remove the link, or name the directory with `--out-dir`.";
        UnityProject = "unity-project", Error, "There is no Unity project here: a folder with `Assets` and `ProjectSettings`; go to one, or name it with `--project`.";
        UnityIndex = "unity-index", Error, "The index is missing, damaged or of another version; run `unity-assetdb bake`.";
        UnityBake = "unity-bake", Error, "The index cannot be written; the message has the system's reason.";
        UnityInput = "unity-input", Error, "A file named on the command line cannot be read, or is no database.";
        UnityDuplicateGuid = "unity-duplicate-guid", Error, "Several assets share a GUID; give all but one of them a new `.meta`.";
        UnityAmbiguousName = "unity-ambiguous-name", Error, "Nothing tells assets of one name and type apart; rename one of them.";
        UnityMetaEmpty = "unity-meta-empty", Warning, "A `.meta` is empty, so the asset has no row; restore it, or let Unity write it again.";
        UnityMetaGuid = "unity-meta-guid", Warning, "A `.meta` has no GUID, a malformed one, or two; restore it, or let Unity write it again.";
        UnityBom = "unity-bom", Warning, "A `.meta` or an asset in YAML starts with a byte order mark; save it as UTF-8 without one.";
        UnityCrlf = "unity-crlf", Warning, "The lines of `.meta` files or assets end in CR LF: one warning for all, with their number and the first; have Git check them out with LF.";
        UnityNotUtf8 = "unity-not-utf8", Warning, "A `.meta` or a name in an asset has bytes that are not UTF-8; save it as UTF-8.";
        UnityNameNotUtf8 = "unity-name-not-utf8", Warning, "The name of a file is not UTF-8, and the file was passed over; rename it.";
        UnityMergeConflict = "unity-merge-conflict", Warning, "A merge was not finished; resolve the conflict.";
        UnityLfsPointer = "unity-lfs-pointer", Warning, "Git LFS did not fetch the content, so what is inside has no names; run `git lfs pull`.";
        UnityUnreadable = "unity-unreadable", Warning, "A file or folder cannot be read; the message has the system's reason.";
        UnityIo = "unity-io", Error, "The system failed to read a file or folder of the project (a failing disk, no memory), so that the bake ended and the old index was kept; see to the system, and bake again.";
        UnityModelUnreadable = "unity-model-unreadable", Warning, "The names inside a model cannot be read; export it again.";
        UnityOrphanMeta = "unity-orphan-meta", Warning, "A `.meta` is about nothing; remove it, or bring back what it belongs to.";
        UnityMissingMeta = "unity-missing-meta", Warning, "An asset has no `.meta`; let Unity write one and commit it.";
        UnityPlaceholderGuid = "unity-placeholder-guid", Warning, "A GUID looks made up, and another project may have the same; let Unity make one.";
        UnityBrokenGuid = "unity-broken-guid", Error, "A reference leads to no asset; restore the asset with its `.meta`, or remove the reference.";
        UnityBrokenObject = "unity-broken-object", Error, "A reference leads to an asset that does not hold the object; repair or remove it.";
        UnityUnknownGuid = "unity-unknown-guid", Warning, "A reference leads to no asset here, but perhaps into a package that is not on this machine.";
    }
    "Paks", "See [paks](pak.md)." {
        PakSyntax = "pak-syntax", Error, "A description is not TOML; the place says where the parser gave up. A table given twice counts as that.";
        PakTable = "pak-table", Error, "A description has none or several asset tables, or a content file has no `[content]`; give it exactly one.";
        PakField = "pak-field", Error, "A table has no such field; the hint names the nearest one.";
        PakValue = "pak-value", Error, "A value has the wrong type or is out of range; the message says what is wanted.";
        PakNoMatch = "pak-no-match", Error, "A pattern matches no file; patterns are relative to the root.";
        PakPath = "pak-path", Error, "A path leaves the root; put the file below it.";
        PakMissing = "pak-missing", Error, "A file, mesh, material or image that is named is not there; the hint lists what is.";
        PakKind = "pak-kind", Error, "A path leads to an asset of another kind than is wanted there.";
        PakCircle = "pak-circle", Error, "Descriptions refer to each other without end, or so many in a row that they might as well; the message shows the way.";
        PakKey = "pak-key", Error, "Two files would have the same key; rename or exclude one.";
        PakFont = "pak-font", Error, "The definition of a bitmap font cannot be used; export it as text.";
        PakAnimation = "pak-animation", Error, "The animation that is asked for is not in the file.";
        PakAnimationEmpty = "pak-animation-empty", Warning, "Nothing is left of an animation; see `exclude`, and what the source animates.";
        PakExclude = "pak-exclude", Warning, "`exclude` names a target that the animation does not move; check its spelling.";
        PakMesh = "pak-mesh", Error, "The triangles of a source cannot be used as asked; the message says why.";
        PakSwizzle = "pak-swizzle", Warning, "UASTC normals keep X and Y whatever `swizzle` says; leave it out.";
        PakFormat = "pak-format", Error, "An asset does not fit the file format; the message names the field.";
        PakDamaged = "pak-damaged", Error, "A pak is not what was written; bake it again, or copy it again.";
        PakNoKey = "pak-no-key", Error, "A pak has no such key; `pak list` shows all.";
        PakExtract = "pak-extract", Error, "An asset cannot be written below the folder that was named; its key is no path, or a link leads out.";
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

/// The string is not the name of a [`Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is not a diagnostic code")
    }
}

impl std::error::Error for UnknownCode {}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Renders the table as the text of `docs/diagnostics.md`.
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
