use super::*;

#[test]
fn addresses_that_mean_the_same_share_a_login() {
    assert_eq!(key("https://A.test:443/mcp"), key("https://a.test/mcp"));
    assert_eq!(key("https://a.test/"), key("https://a.test"));
    assert_ne!(key("https://a.test/mcp"), key("https://a.test/MCP"));
    assert_ne!(key("http://a.test/mcp"), key("https://a.test/mcp"));
}

#[test]
fn a_file_that_is_not_ours_is_refused_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let store = LoginStore::new(home.path());
    store.put_wanted("https://a.test", "Bearer").unwrap();
    std::fs::write(store.path(), "not JSON").unwrap();
    let error = store.put_wanted("https://a.test", "Bearer x").unwrap_err();
    assert!(error.to_string().contains("logins.json"));
    assert_eq!(std::fs::read_to_string(store.path()).unwrap(), "not JSON");
}
