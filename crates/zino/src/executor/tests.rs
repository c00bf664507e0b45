use super::*;
use crate::logging::Level;

#[test]
fn keys_do_not_reach_programs() {
    let config = Config::parse("").unwrap().config;
    let service = ExecutorService::new(config, Log::new("exc", Level::Error), None).unwrap();
    let command = service.command("bash", Path::new("code.sh"));
    let removed: Vec<&OsStr> = command
        .get_envs()
        .filter_map(|(name, value)| value.is_none().then_some(name))
        .collect();
    for name in [
        "LLM_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "ZINO_STORE_URL",
    ] {
        assert!(removed.contains(&OsStr::new(name)), "{name}");
    }
}
