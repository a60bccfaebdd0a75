// Reads asset-db.bin, the index of a Unity project that unity-assetdb bakes. One file, no dependencies: copy it into an
// Editor folder or a tool. The layout is in docs/reference/formats/assetdb.md.
//
//     var db = UnityAssetDb.AssetDb.Read("Library/unity-assetdb/asset-db.bin");
//     string path = db.Find("8f57b4a070f7b43bbb3925467e6752ab")?.Path;

using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace UnityAssetDb
{
    /// <summary>The file is no database, is damaged, or has another schema version.</summary>
    public sealed class AssetDbException : Exception
    {
        public AssetDbException(string message) : base(message) { }
    }

    /// <summary>A named object inside an asset.</summary>
    public sealed class SubAsset
    {
        public long FileId;
        public uint ClassId;
        public string Name;
    }

    /// <summary>An asset of the project.</summary>
    public sealed class Asset
    {
        /// <summary>32 lower-case hexadecimal digits.</summary>
        public string Guid;
        /// <summary>The class ID, or null if the asset is a ScriptableObject.</summary>
        public uint? ClassId;
        /// <summary>The GUID of the script of a ScriptableObject, or null.</summary>
        public string Script;
        public string Name;
        public SubAsset[] SubAssets;
        /// <summary>The path, relative to the project.</summary>
        public string Path;
    }

    /// <summary>A database in memory.</summary>
    public sealed class AssetDb
    {
        const ushort SchemaVersion = 6;
        static readonly byte[] Magic = Encoding.ASCII.GetBytes("UADBIN__");

        /// <summary>All assets, by GUID.</summary>
        public readonly Asset[] Assets;

        AssetDb(Asset[] assets) { Assets = assets; }

        /// <summary>Returns the asset with a GUID of 32 lower-case digits, or null.</summary>
        public Asset Find(string guid)
        {
            int low = 0, high = Assets.Length - 1;
            while (low <= high)
            {
                int middle = low + (high - low) / 2;
                int order = string.CompareOrdinal(Assets[middle].Guid, guid);
                if (order == 0) return Assets[middle];
                if (order < 0) low = middle + 1; else high = middle - 1;
            }
            return null;
        }

        /// <summary>Reads a database file.</summary>
        public static AssetDb Read(string path) { return Decode(File.ReadAllBytes(path)); }

        /// <summary>Decodes the bytes of a database.</summary>
        public static AssetDb Decode(byte[] data)
        {
            for (int at = 0; at < Magic.Length; at++)
                if (data.Length <= at || data[at] != Magic[at]) throw new AssetDbException("not an asset-db.bin");
            var reader = new Reader(data, Magic.Length);
            ulong version = reader.UInt();
            if (version != SchemaVersion)
                throw new AssetDbException("schema version " + version + ", expected " + SchemaVersion + "; bake again");
            var scripts = new string[reader.Count()];
            for (int n = 0; n < scripts.Length; n++) scripts[n] = reader.Guid();
            var assets = new Asset[reader.Count()];
            for (int n = 0; n < assets.Length; n++)
            {
                var asset = new Asset { Guid = reader.Guid() };
                ulong tag = reader.UInt(), value = reader.UInt();
                if (tag == 0) asset.ClassId = checked((uint)value);
                else if (tag == 1 && value < (ulong)scripts.Length) asset.Script = scripts[value];
                else throw new AssetDbException("invalid type of asset " + asset.Guid);
                asset.Name = reader.String();
                asset.SubAssets = new SubAsset[reader.Count()];
                for (int sub = 0; sub < asset.SubAssets.Length; sub++)
                    asset.SubAssets[sub] = new SubAsset
                    {
                        FileId = reader.Int(),
                        ClassId = checked((uint)reader.UInt()),
                        Name = reader.String(),
                    };
                asset.Path = reader.String();
                assets[n] = asset;
            }
            return new AssetDb(assets);
        }

        /// <summary>Decodes the variable-length integers and strings of bincode 2.</summary>
        sealed class Reader
        {
            static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);
            readonly byte[] data;
            int at;

            internal Reader(byte[] data, int at) { this.data = data; this.at = at; }

            int Take(int count)
            {
                if (count > data.Length - at) throw new AssetDbException("unexpected end of file");
                int start = at;
                at += count;
                return start;
            }

            /// <summary>Reads an integer of at most 128 bits: the low and the high half.</summary>
            ulong Wide(out ulong high)
            {
                high = 0;
                byte first = data[Take(1)];
                if (first < 251) return first;
                if (first == 255) throw new AssetDbException("invalid integer");
                int size = 2 << (first - 251);
                int start = Take(size);
                ulong low = 0;
                for (int n = size - 1; n >= 0; n--)
                {
                    if (n >= 8) high = high << 8 | data[start + n];
                    else low = low << 8 | data[start + n];
                }
                return low;
            }

            internal ulong UInt()
            {
                ulong low = Wide(out ulong high);
                if (high != 0) throw new AssetDbException("an integer exceeds 64 bits");
                return low;
            }

            internal long Int()
            {
                ulong value = UInt();
                return (long)(value >> 1) ^ -(long)(value & 1);
            }

            internal string Guid()
            {
                ulong low = Wide(out ulong high);
                return high.ToString("x16") + low.ToString("x16");
            }

            internal int Count()
            {
                ulong count = UInt();
                // Each item takes at least one byte.
                if (count > (ulong)(data.Length - at)) throw new AssetDbException("a length exceeds the file");
                return (int)count;
            }

            internal string String()
            {
                int count = Count();
                try { return Utf8.GetString(data, Take(count), count); }
                catch (ArgumentException) { throw new AssetDbException("a string is not UTF-8"); }
            }
        }
    }
}
