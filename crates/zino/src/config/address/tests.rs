use super::*;

#[test]
fn addresses_are_shown_as_they_are_written() {
    for text in [
        "unix:///run/zino/mem.sock",
        "tcp://127.0.0.1:7443",
        "tcp://localhost:7443",
        "tcp://[::1]:7443",
        "tls://mem-1:7443",
        "tls://10.0.0.7:1",
        "tls://[fd00::7]:65535",
    ] {
        assert_eq!(Address::parse(text).unwrap().to_string(), text);
    }
    let slash = Address::parse("tls://mem-1:7443/").unwrap();
    assert_eq!(slash.to_string(), "tls://mem-1:7443");
}

#[test]
fn what_is_wrong_with_an_address_is_named() {
    for (text, expected) in [
        ("mem-1:7443", "is not an address: expected tls://HOST:PORT"),
        (
            "http://mem-1:7443",
            "unknown scheme \"http\": expected tls, tcp or unix",
        ),
        ("tls://mem-1", "has no port"),
        ("tls://fd00::7:7443", "has no port"),
        ("tls://:7443", "has no host"),
        ("tls://mem-1:", "\"\" is not a port"),
        ("tls://mem-1:0", "\"0\" is not a port"),
        ("tls://mem-1:+80", "\"+80\" is not a port"),
        ("tls://mem-1:70000", "\"70000\" is not a port"),
        ("tcp://10.0.0.7:7443", "plain TCP is only for this machine"),
        ("tcp://0.0.0.0:7443", "use tls:// for 0.0.0.0"),
        ("tcp://mem-1:7443", "use tls:// for mem-1"),
        ("unix://run/mem.sock", "must be absolute"),
    ] {
        let error = Address::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn only_a_listener_may_leave_the_port_open() {
    let address = NetworkAddress::parse_to_listen("tls://0.0.0.0:0").unwrap();
    assert_eq!(address.port, 0);
    let error = NetworkAddress::parse_to_listen("unix:///run/zino/mem.sock").unwrap_err();
    assert!(error.to_string().contains("[NAME] socket"), "{error}");
}
