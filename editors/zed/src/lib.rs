//! The extension for Zed: it starts `afflint lsp`, from the settings or from PATH.

use zed_extension_api::serde_json::{json, Value};
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, LanguageServerId, Result, Worktree};

const NAME: &str = "afflint";

struct Afflint;

impl zed::Extension for Afflint {
    fn new() -> Self {
        Afflint
    }

    /// The command that `lsp.afflint.binary` in the settings names, or `afflint lsp` of the shell's PATH.
    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<zed::Command> {
        let binary = LspSettings::for_worktree(NAME, worktree)?.binary;
        let path = binary.as_ref().and_then(|binary| binary.path.clone());
        let command = path
            .or_else(|| worktree.which(NAME))
            .ok_or("afflint is not on PATH: install it, or set lsp.afflint.binary.path to its full path")?;
        let args = binary.and_then(|binary| binary.arguments).unwrap_or_else(|| vec!["lsp".into()]);
        Ok(zed::Command {
            command,
            args,
            env: worktree.shell_env(),
        })
    }

    fn language_server_initialization_options(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Option<Value>> {
        Ok(LspSettings::for_worktree(NAME, worktree)?.initialization_options)
    }

    /// The server asks for the section `afflint`.
    fn language_server_workspace_configuration(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(NAME, worktree)?.settings;
        Ok(settings.map(|settings| json!({ NAME: settings })))
    }
}

zed::register_extension!(Afflint);
