use super::*;

#[test]
fn only_what_no_setting_confines_is_called_unconfined() {
    let check = |extensions, servers, expected: &str| {
        assert_eq!(unconfined(extensions, servers), expected);
    };
    check(
        Some(Level::Off),
        Level::Off,
        "Not confined: extensions and MCP servers without a sandbox of their own (settings \
         sandbox_extensions and sandbox_mcp confine them), and what you do yourself with !cmd and @file.",
    );
    check(
        None,
        Level::Off,
        "Not confined: MCP servers without a sandbox of their own (setting sandbox_mcp confines them), \
         and what you do yourself with !cmd and @file.",
    );
    check(
        Some(Level::Workspace),
        Level::Off,
        "Not confined: MCP servers without a sandbox of their own (setting sandbox_mcp confines them), \
         and what you do yourself with !cmd and @file. At least workspace: extensions (setting \
         sandbox_extensions).",
    );
    check(
        Some(Level::Workspace),
        Level::ReadOnly,
        "Not confined: what you do yourself with !cmd and @file. At least workspace: extensions \
         (setting sandbox_extensions). At least read-only: MCP servers (setting sandbox_mcp).",
    );
}
