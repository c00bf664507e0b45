use serde_json::{Value, json};

use super::{Setup, ask};

fn claim(call: &str, owner: &str) -> Value {
    json!({ "type": "claim", "call": call, "owner": owner })
}

fn renew(call: &str, owner: &str) -> Value {
    json!({ "type": "renew_claim", "call": call, "owner": owner })
}

fn finish(call: &str, owner: &str, result: Value) -> Value {
    json!({ "type": "finish_claim", "call": call, "owner": owner, "result": result })
}

#[tokio::test]
async fn a_call_is_claimed_once() {
    let setup = Setup::new().await;
    let (one, two) = (setup.start(), setup.start());
    let result = json!({ "exit_code": 3, "stdout": "out\u{0}", "stderr": "" });
    assert_eq!(ask(&one, claim("1", "a")).await["state"], "taken");
    // A repeated request of the same owner, perhaps at another `mem`.
    assert_eq!(ask(&two, claim("1", "a")).await["state"], "taken");
    assert_eq!(ask(&two, claim("1", "b")).await["state"], "running");
    assert_eq!(ask(&two, renew("1", "a")).await["type"], "ok");
    for request in [renew("1", "b"), finish("1", "b", result.clone())] {
        let refused = ask(&two, request).await;
        assert_eq!(refused["code"], "moved", "{refused}");
    }
    for _ in 0..2 {
        let finished = ask(&two, finish("1", "a", result.clone())).await;
        assert_eq!(finished["type"], "ok", "{finished}");
    }
    for owner in ["a", "b"] {
        let found = ask(&one, claim("1", owner)).await;
        assert_eq!(found["state"], "finished");
        assert_eq!(found["result"], result);
    }
    let refused = ask(&one, finish("1", "a", json!({ "exit_code": 4 }))).await;
    assert_eq!(refused["code"], "moved", "{refused}");
}

#[tokio::test]
async fn an_expired_claim_is_interrupted_for_good() {
    let setup = Setup::new().await;
    let mem = setup.start();
    let expire = || setup.sql("update zino_claim set lease_until = '-infinity'");
    assert_eq!(ask(&mem, claim("1", "a")).await["state"], "taken");
    expire();
    // Nobody was told: the owner may go on.
    assert_eq!(ask(&mem, renew("1", "a")).await["type"], "ok");
    assert_eq!(ask(&mem, claim("1", "b")).await["state"], "running");
    expire();
    for owner in ["b", "c", "a"] {
        assert_eq!(ask(&mem, claim("1", owner)).await["state"], "interrupted");
    }
    for request in [renew("1", "a"), finish("1", "a", json!({}))] {
        assert_eq!(ask(&mem, request).await["code"], "moved");
    }
    // The runner may itself report that it was interrupted.
    assert_eq!(ask(&mem, claim("2", "a")).await["state"], "taken");
    assert_eq!(ask(&mem, finish("2", "a", Value::Null)).await["type"], "ok");
    assert_eq!(ask(&mem, claim("2", "b")).await["state"], "interrupted");
}

#[tokio::test]
async fn old_claims_are_removed() {
    let setup = Setup::new().await;
    let mem = setup.start();
    for call in ["old", "running", "new"] {
        assert_eq!(ask(&mem, claim(call, "a")).await["state"], "taken");
    }
    setup.sql(
        "update zino_claim set at = at - interval '25 hours' where call <> 'new'; \
         update zino_claim set lease_until = lease_until - interval '25 hours' where call = 'old'",
    );
    let config = super::config(&setup.database.url);
    let store = super::PostgresStore::new(&config, &config.store_url().unwrap()).unwrap();
    store.remove_old_claims().await.unwrap();
    let left = "select string_agg(call, ' ' order by call) from zino_claim";
    assert_eq!(setup.sql(left), "new running");
}
