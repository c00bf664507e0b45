use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::postgres::{Listen, Postgres, PostgresOptions, Shutdown};
use tokio_postgres::config::SslMode;

use super::{ask, config, database, migrate, start};
use crate::config::{Config, Store, StoreUrl};
use crate::memory::MemoryService;
use crate::postgres::parse;

async fn soft(config: &Config) -> Value {
    ask(&start(config), json!({ "type": "get_soft" })).await
}

/// The message of a request that was refused because of the database.
async fn refusal(config: &Config) -> String {
    let response = soft(config).await;
    assert_eq!(response["code"], "store_unavailable", "{response}");
    response["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn tables_of_another_version_are_not_used() {
    let postgres = Postgres::start();
    let database_of_test = postgres.database();
    let config = config(&database_of_test.url);
    let message = refusal(&config).await;
    assert!(message.ends_with("run `zino store migrate`"), "{message}");
    let store = database(&config);
    let checked = store.check().await.unwrap_err().to_string();
    assert_eq!(checked, message);
    let mem = start(&config);
    ask(&mem, json!({ "type": "get_soft" })).await;
    let first = store.migrate().await.unwrap();
    assert_eq!((first.from, first.to), (0, 2));
    let second = store.migrate().await.unwrap();
    assert_eq!((second.from, second.to), (2, 2));
    // A service that was running needs no help.
    let response = ask(&mem, json!({ "type": "get_soft" })).await;
    assert_eq!(response["content"], "");
    assert!(store.check().await.unwrap().is_empty());
    let newer = "insert into zino_schema (version) values (7)";
    postgres.sql(&database_of_test.name, newer);
    let message = refusal(&config).await;
    assert!(
        message.contains("version 7, this zino knows 2"),
        "{message}"
    );
    assert!(message.ends_with("install a newer zino"), "{message}");
    let migrated = store.migrate().await.unwrap_err().to_string();
    assert_eq!(migrated, message);
}

#[tokio::test]
async fn a_host_that_is_down_is_skipped() {
    let postgres = Postgres::start();
    let database = postgres.database();
    migrate(&database.url).await;
    let both = database
        .url
        .replace("postgres@", "postgres@%2Fnonexistent:1,");
    assert_eq!(soft(&config(&both)).await["content"], "");
}

#[tokio::test]
async fn two_processes_may_migrate_at_the_same_time() {
    let postgres = Postgres::start();
    let config = config(&postgres.database().url);
    let (first, second) = (database(&config), database(&config));
    let (first, second) = tokio::join!(first.migrate(), second.migrate());
    assert_eq!(first.unwrap().from + second.unwrap().from, 2);
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let options = PostgresOptions {
        listen: Listen::Loopback,
        access: Some("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n".to_owned()),
        ..PostgresOptions::default()
    };
    let postgres = Postgres::with(&options);
    let name = postgres.database().name;
    migrate(&postgres.url("postgres", &name)).await;
    postgres.sql(
        "postgres",
        "create role zino login superuser password 'right secret'",
    );
    let port = postgres.port();
    let url = |password: &str| format!("postgres://zino:{password}@127.0.0.1:{port}/{name}");
    assert_eq!(soft(&config(&url("right%20secret"))).await["content"], "");
    let wrong = config(&url("wrong%20secret"));
    let message = refusal(&wrong).await;
    let expected = format!(
        "PostgreSQL at 127.0.0.1:{port}/{name}: password authentication failed for user \"zino\""
    );
    assert_eq!(message, expected);
    assert!(!format!("{wrong:?}").contains("secret"));
    for bad in [
        "postgres://zino:sec@ret@db/zino",
        "postgres://zino:secret@db:port/zino",
        "postgres://zino:secret@/zino",
        "postgres://zino:secret@db/zino?unknown=1",
        "mysql://zino:secret@db/zino",
    ] {
        let error = MemoryService::new(&config(bad)).err().unwrap().to_string();
        assert!(
            !error.contains("secret") && !error.contains("ret@"),
            "{error}"
        );
    }
}

/// Writes an authority, and a certificate of it for 127.0.0.1 into the cluster; returns the authority.
fn certify(postgres: &Postgres, directory: &Path, name: &str) -> PathBuf {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    postgres.write_secret("server.pem", certificate.pem());
    postgres.write_secret("server.key", key.serialize_pem());
    let path = directory.join(format!("{name}.pem"));
    std::fs::write(&path, authority.pem()).unwrap();
    path
}

#[tokio::test]
async fn the_certificate_of_the_database_is_verified() {
    let mut postgres = Postgres::with(&PostgresOptions {
        listen: Listen::Loopback,
        ..PostgresOptions::default()
    });
    let name = postgres.database().name;
    migrate(&postgres.url("postgres", &name)).await;
    let directory = TempDir::new().unwrap();
    let elsewhere = certify(&postgres, directory.path(), "elsewhere.example");
    let file = |name: &str| postgres.path().join(name).display().to_string();
    let settings = [
        ("ssl", "on"),
        ("ssl_cert_file", &file("server.pem")),
        ("ssl_key_file", &file("server.key")),
    ];
    postgres.configure(&settings);
    postgres.stop(Shutdown::Fast);
    postgres.start_again();
    let url = format!("postgres://postgres@127.0.0.1:{}/{name}", postgres.port());
    let with = |authority: &Path, url: &str| {
        let mut config = config(url);
        config.store.ca = Some(authority.to_owned());
        config
    };
    let message = refusal(&with(&elsewhere, &url)).await;
    assert!(
        message.ends_with("its certificate is not for 127.0.0.1"),
        "{message}"
    );

    let authority = certify(&postgres, directory.path(), "127.0.0.1");
    postgres.stop(Shutdown::Fast);
    postgres.start_again();
    assert_eq!(soft(&with(&authority, &url)).await["content"], "");
    let encrypted = "select bool_or(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name = 'zino'";
    let mem = start(&with(&authority, &url));
    ask(&mem, json!({ "type": "get_soft" })).await;
    assert_eq!(postgres.sql(&name, encrypted), "t");
    for mode in ["require", "verify-full", "prefer"] {
        let url = format!("{url}?sslmode={mode}");
        let message = refusal(&with(&elsewhere, &url)).await;
        assert!(
            message.contains("its certificate is from another authority"),
            "{message}"
        );
    }
    // Without TLS on this machine unless it is asked for.
    assert_eq!(soft(&config(&url)).await["content"], "");
    let missing = MemoryService::new(&with(Path::new("/nonexistent"), &url));
    let missing = missing.err().unwrap().to_string();
    assert!(
        missing.starts_with("cannot read the certificates in /nonexistent"),
        "{missing}"
    );
}

#[test]
fn other_machines_are_reached_with_tls_unless_it_is_disabled() {
    for (url, expected) in [
        ("postgres://zino@db/zino", SslMode::Require),
        ("postgres://zino@192.0.2.1/zino", SslMode::Require),
        ("postgres://zino@localhost,db/zino", SslMode::Require),
        (
            "postgres://zino@db/zino?sslmode=verify-ca",
            SslMode::Require,
        ),
        ("postgres://zino@db/zino?sslmode=disable", SslMode::Disable),
        ("postgres://zino@db/zino?sslmode=prefer", SslMode::Prefer),
        ("postgres://zino@localhost/zino", SslMode::Disable),
        ("postgres://zino@127.0.0.1/zino", SslMode::Disable),
        ("postgres://zino@%2Frun%2Fpostgresql/zino", SslMode::Disable),
    ] {
        let config = config(url);
        let url_of_store = config.store_url().unwrap();
        let mut store = config.store.clone();
        let mode = |store: &Store| parse(store, &url_of_store).unwrap().get_ssl_mode();
        assert_eq!(mode(&store), expected, "{url}");
        // A given authority implies TLS.
        store.ca = Some(PathBuf::from("ca.pem"));
        let with_authority = match url.contains("sslmode") {
            true => expected,
            false => SslMode::Require,
        };
        assert_eq!(mode(&store), with_authority, "{url}");
    }
}

#[test]
fn unusable_settings_are_named() {
    let mut config = config("postgres://zino@localhost/zino");
    config.store.connections = 0;
    let error = MemoryService::new(&config).err().unwrap().to_string();
    assert_eq!(error, "[store] connections must be at least 1");
    config.store.url = Some(StoreUrl::new(""));
    assert!(
        MemoryService::new(&config).is_ok(),
        "an empty address means files"
    );
}
