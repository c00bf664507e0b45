-- One row for each session of an agent. Every writer of a session locks its row.
create table zino_session (
    id text collate "C" primary key,
    profile text not null,
    -- Grows with every new holder.
    fence bigint not null default 0,
    -- The worker that has the session, for people.
    owner text,
    -- Which opening of the session renews and releases the lease, and may append.
    holder text,
    lease_until timestamptz not null default '-infinity',
    -- How long the records are, which is where the next one begins.
    bytes bigint not null default 0,
    created timestamptz not null default clock_timestamp(),
    changed timestamptz not null default clock_timestamp()
) with (fillfactor = 70);

-- The bytes of the session file, in the parts in which they were appended.
create table zino_session_record (
    session text collate "C" not null,
    position bigint not null,
    bytes bytea not null,
    primary key (session, position)
);

-- Code that somebody runs or has run: no other machine may run it again.
create table zino_claim (
    call text collate "C" primary key,
    owner text not null,
    lease_until timestamptz not null,
    state text not null default 'running' check (state in ('running', 'finished', 'interrupted')),
    result bytea,
    at timestamptz not null default clock_timestamp()
);
create index on zino_claim (at);

-- Makes new_holder the only writer of a session. Returns its fence; or who has it; or neither, if there is
-- no such session. is_takeover tells that the last holder did not release it.
create function zino_take_session(
    session_id text, wanted_profile text, is_new boolean, new_owner text, new_holder text, lease interval,
    out taken_fence bigint, out held_by text, out is_takeover boolean
) language plpgsql set lock_timeout = '3s' as $$
declare
    found_session zino_session;
begin
    if is_new then
        insert into zino_session (id, profile, owner, holder)
            values (session_id, wanted_profile, new_owner, new_holder) on conflict do nothing;
    else
        -- A lost lease harms nobody: the holder is checked too.
        perform set_config('synchronous_commit', 'off', true);
    end if;
    select * into found_session from zino_session
        where id = session_id and profile = wanted_profile for update;
    if not found then
        -- A new one has the id of a session of another profile.
        held_by := case when is_new then '' end;
        return;
    end if;
    is_takeover := found_session.holder is not null and found_session.holder <> new_holder;
    if found_session.holder is distinct from new_holder
        and (is_new or found_session.lease_until > clock_timestamp())
    then
        held_by := coalesce(found_session.owner, '');
        return;
    end if;
    -- A repeated statement has its lease already.
    taken_fence := found_session.fence
        + case when found_session.holder is distinct from new_holder then 1 else 0 end;
    update zino_session
        set fence = taken_fence, owner = new_owner, holder = new_holder,
            lease_until = clock_timestamp() + lease
        where id = session_id;
end $$;

-- Extends the leases of a worker, even expired ones: nobody has taken the sessions since. Returns the
-- holders that still have their session. A row that is locked is left out, so that it does not cost the
-- worker all its other sessions.
create function zino_renew_sessions(
    session_ids text[], held_holders text[], held_fences bigint[], lease interval
) returns table (kept_holder text, is_renewed boolean)
language plpgsql set lock_timeout = '2s' as $$
declare
    renewed text[];
begin
    perform set_config('synchronous_commit', 'off', true);
    with unlocked as (
        select session.id from zino_session as session
        join unnest(session_ids, held_holders, held_fences) as held (id, holder, fence)
            on session.id = held.id and session.holder = held.holder and session.fence = held.fence
        for update of session skip locked
    ), extended as (
        update zino_session as session set lease_until = clock_timestamp() + lease
            from unlocked where session.id = unlocked.id
            returning session.holder
    )
    select coalesce(array_agg(extended.holder), '{}') into renewed from extended;
    return query select session.holder, session.holder = any (renewed)
        from zino_session as session
        join unnest(session_ids, held_holders, held_fences) as held (id, holder, fence)
            on session.id = held.id and session.holder = held.holder and session.fence = held.fence;
end $$;

-- Ends the caller's lease, and leaves that of anyone else. Returns whether the caller has none any more:
-- it waits for no lock, because renewals wait for it.
create function zino_release_session(
    session_id text, held_holder text, held_fence bigint
) returns boolean language plpgsql set lock_timeout = '2s' as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update zino_session set owner = null, holder = null, lease_until = '-infinity'
        where id in (
            select id from zino_session
            where id = session_id and holder = held_holder and fence = held_fence
            for update skip locked
        );
    return not exists (
        select from zino_session
        where id = session_id and holder = held_holder and fence = held_fence
    );
end $$;

-- Adds bytes at the end of the records, and extends the lease. The same bytes at the same position are
-- stored once.
create function zino_append_session(
    session_id text, held_holder text, held_fence bigint, at_position bigint, new_bytes bytea,
    lease interval
) returns void language plpgsql set lock_timeout = '3s' as $$
declare
    found_session zino_session;
begin
    select * into found_session from zino_session where id = session_id for update;
    -- An expired lease is still good: nobody has taken the session since.
    if found_session.holder is distinct from held_holder
        or found_session.fence is distinct from held_fence
    then
        raise exception 'the session has another holder' using errcode = 'ZN001';
    end if;
    if at_position = found_session.bytes then
        insert into zino_session_record (session, position, bytes)
            values (session_id, at_position, new_bytes);
        found_session.bytes := found_session.bytes + length(new_bytes);
        found_session.changed := clock_timestamp();
    elsif not exists (
        select from zino_session_record as record
        where record.session = session_id and record.position = at_position
            and record.bytes = new_bytes
    ) then
        raise exception 'the session has % bytes: nothing else can be stored at %',
            found_session.bytes, at_position;
    end if;
    update zino_session
        set bytes = found_session.bytes, changed = found_session.changed,
            lease_until = clock_timestamp() + lease
        where id = session_id;
end $$;

-- Makes new_owner the one that runs the code of a call, unless anyone has done so before. Returns what
-- became of the call, and its result.
create function zino_take_claim(
    new_call text, new_owner text, lease interval, out claim_state text, out claim_result bytea
) language plpgsql set lock_timeout = '3s' as $$
declare
    found_claim zino_claim;
begin
    insert into zino_claim (call, owner, lease_until)
        values (new_call, new_owner, clock_timestamp() + lease) on conflict do nothing;
    select * into found_claim from zino_claim where call = new_call for update;
    claim_state := found_claim.state;
    claim_result := found_claim.result;
    if found_claim.state <> 'running' then
        return;
    end if;
    if found_claim.owner = new_owner then
        claim_state := 'taken';
    elsif found_claim.lease_until <= clock_timestamp() then
        update zino_claim set state = 'interrupted' where call = new_call;
        claim_state := 'interrupted';
    end if;
end $$;

-- Extends the lease of a claim, even an expired one: nobody was told that it was interrupted.
create function zino_renew_claim(
    held_call text, held_owner text, lease interval
) returns void language plpgsql set lock_timeout = '3s' as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update zino_claim set lease_until = clock_timestamp() + lease
        where call = held_call and owner = held_owner and state = 'running';
    if not found then
        raise exception 'the claim has ended' using errcode = 'ZN001';
    end if;
end $$;

-- Stores the result of a call, or without one that it was interrupted.
create function zino_finish_claim(
    held_call text, held_owner text, new_result bytea
) returns void language plpgsql set lock_timeout = '3s' as $$
begin
    update zino_claim
        set state = case when new_result is null then 'interrupted' else 'finished' end,
            result = new_result
        where call = held_call and owner = held_owner and state = 'running';
    if not found and not exists (
        select from zino_claim
        where call = held_call and owner = held_owner
            and result is not distinct from new_result and state <> 'running'
    ) then
        raise exception 'the claim has ended' using errcode = 'ZN001';
    end if;
end $$;

-- The usual compression takes seconds for the longest frames, longer than a caller waits. PostgreSQL before 14,
-- or built without lz4, keeps it.
do $$
begin
    execute 'alter table zino_entry alter column messages set compression lz4';
    execute 'alter table zino_session_record alter column bytes set compression lz4';
    execute 'alter table zino_claim alter column result set compression lz4';
exception when syntax_error or feature_not_supported or invalid_parameter_value then
    null;
end $$;
