module zot-rpc-client

go 1.19
