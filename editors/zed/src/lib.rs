//! The extension for Zed: it starts `afflint lsp` from PATH.
//!
//! Zed merges the settings of the user with those of the worktree, `.zed/settings.json`, which the author of a repository writes. Nothing
//! that starts a program is therefore taken from settings: neither the server itself nor the initialization option `render`.

use zed_extension_api::serde_json::{json, Value};
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, LanguageServerId, Result, Worktree};

const NAME: &str = "afflint";

struct Afflint;

impl zed::Extension for Afflint {
    fn new() -> Self {
        Afflint
    }

    /// `afflint lsp` of the shell's PATH.
    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<zed::Command> {
        let command = worktree
            .which(NAME)
            .ok_or("afflint is not on PATH: install it, for example with pipx or uv")?;
        Ok(zed::Command {
            command,
            args: vec!["lsp".into()],
            env: worktree.shell_env(),
        })
    }

    /// The server asks for the section `afflint`, in which it ignores `render`.
    fn language_server_workspace_configuration(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(NAME, worktree)?.settings;
        Ok(settings.map(|settings| json!({ NAME: settings })))
    }
}

zed::register_extension!(Afflint);
