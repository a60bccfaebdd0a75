// Starts `unity-assetdb lsp` for the files of a Unity project. `npm install`, then "Developer: Install Extension from
// Location…" with this folder.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function () {
  const command = vscode.workspace.getConfiguration("unityAssetdb").get("path");
  const pattern = "**/*.{prefab,unity,asset,mat,controller,meta,asmdef,cs}";
  client = new LanguageClient(
    "unityAssetdb",
    "Unity references",
    { command, args: ["lsp"] },
    { documentSelector: [{ scheme: "file", pattern }] },
  );
  return client.start();
};

exports.deactivate = () => client?.stop();
