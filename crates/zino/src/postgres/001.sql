-- One row for each channel. Every writer of a channel locks its row.
create table zino_channel (
    id text collate "C" primary key,
    -- Grows with every new owner.
    fence bigint not null default 0,
    -- Who may write while the lease lasts; only the clock of the database counts.
    owner text,
    -- Which of the owner's requests renews and releases the lease.
    holder text,
    lease_until timestamptz not null default '-infinity',
    next_sequence bigint not null default 1,
    -- The length of the history as a file; null when nothing is stored.
    bytes bigint
) with (fillfactor = 70);

-- One row for each append: the bytes of its messages as a file would have them.
create table zino_entry (
    channel text collate "C" not null,
    sequence bigint not null,
    call text,
    messages bytea[] not null,
    count integer generated always as (cardinality(messages)) stored,
    at timestamptz not null default clock_timestamp(),
    primary key (channel, sequence),
    unique (channel, call)
);

-- The hard memories, numbered from 0 without gaps. A deleted one is replaced by an empty one.
create table zino_memory (
    id bigint primary key,
    body bytea not null,
    call text unique,
    -- Increases with every write, in the order in which writes become visible.
    change bigint not null unique
);

-- Every writer of hard memories locks this row. Another epoch means that all memories were replaced.
create table zino_memory_state (
    only_row boolean primary key default true check (only_row),
    epoch text not null default gen_random_uuid(),
    next_id bigint not null default 0,
    change bigint not null default 0
);
insert into zino_memory_state default values;

create table zino_soft (
    only_row boolean primary key default true check (only_row),
    content bytea not null
);

-- Files of an imported directory that only an export needs.
create table zino_file (
    name text primary key,
    content bytea not null
);

-- Bytes that are not UTF-8 are shown escaped.
create function zino_text(bytes bytea) returns text language plpgsql immutable as $$
begin
    return convert_from(bytes, 'UTF8');
exception when others then
    return encode(bytes, 'escape');
end $$;

-- For people: one row for each message.
create view zino_history as
    select channel, sequence, position, zino_text(message) as message, at
    from zino_entry, unnest(messages) with ordinality as element(message, position);

-- Makes new_owner the only writer. With a fence, continues a hold of the same owner, which may have expired
-- or been released, as long as nobody has taken or written to the channel since.
create function zino_take(
    channel_id text, new_owner text, held_fence bigint, new_holder text, lease interval
) returns bigint language plpgsql set lock_timeout = '3s' as $$
declare
    found_channel zino_channel;
    new_fence bigint;
begin
    -- A lost hold harms nobody: the owner is checked too.
    perform set_config('synchronous_commit', 'off', true);
    select * into found_channel from zino_channel where id = channel_id for update;
    if not found and held_fence is null then
        insert into zino_channel (id) values (channel_id) on conflict do nothing;
        select * into found_channel from zino_channel where id = channel_id for update;
    end if;
    if held_fence is not null then
        if found_channel.fence is distinct from held_fence
            or found_channel.owner <> new_owner
        then
            raise exception 'the channel has another owner' using errcode = 'ZN001';
        end if;
        new_fence := held_fence;
    elsif found_channel.owner = new_owner and found_channel.lease_until > clock_timestamp() then
        new_fence := found_channel.fence;
    elsif found_channel.lease_until > clock_timestamp() then
        raise exception 'the channel is held by another owner' using errcode = 'ZN002';
    else
        new_fence := found_channel.fence + 1;
    end if;
    update zino_channel
        set fence = new_fence, owner = new_owner, holder = new_holder,
            lease_until = clock_timestamp() + lease
        where id = channel_id;
    return new_fence;
end $$;

-- Extends a lease, even one that has expired: nobody has taken the channel since.
create function zino_renew(
    channel_id text, held_owner text, held_fence bigint, held_holder text, lease interval
) returns void language plpgsql set lock_timeout = '3s' as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update zino_channel set lease_until = clock_timestamp() + lease
        where id = channel_id and owner = held_owner and fence = held_fence
            and holder = held_holder;
    if not found then
        raise exception 'the lease has ended' using errcode = 'ZN001';
    end if;
end $$;

-- Ends the caller's lease, and leaves that of anyone else.
create function zino_release(
    channel_id text, held_owner text, held_fence bigint, held_holder text
) returns void language plpgsql set lock_timeout = '3s' as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update zino_channel set owner = null, holder = null, lease_until = '-infinity'
        where id = channel_id and owner = held_owner and fence = held_fence
            and holder = held_holder;
end $$;

-- Appends messages and returns the number of the append. The same call gets the same number again. With an
-- owner, only during its lease, which ends with the append; without, only while there is none.
create function zino_append(
    channel_id text, new_call text, held_owner text, held_fence bigint, new_messages bytea[]
) returns bigint language plpgsql set lock_timeout = '3s' as $$
declare
    found_channel zino_channel;
    found_sequence bigint;
    is_held boolean;
begin
    select * into found_channel from zino_channel where id = channel_id for update;
    if not found and held_owner is null then
        insert into zino_channel (id) values (channel_id) on conflict do nothing;
        select * into found_channel from zino_channel where id = channel_id for update;
    end if;
    select sequence into found_sequence from zino_entry
        where channel = channel_id and call = new_call;
    if found then
        return found_sequence;
    end if;
    is_held := found_channel.lease_until > clock_timestamp();
    if held_owner is null and is_held then
        raise exception 'the channel is held by another owner' using errcode = 'ZN002';
    end if;
    if held_owner is not null and (is_held is not true
        or found_channel.owner is distinct from held_owner
        or found_channel.fence is distinct from held_fence)
    then
        raise exception 'the lease has ended' using errcode = 'ZN001';
    end if;
    insert into zino_entry (channel, sequence, call, messages)
        values (channel_id, found_channel.next_sequence, new_call, new_messages);
    update zino_channel
        set next_sequence = next_sequence + 1,
            -- Brackets and line breaks of an array: 2 bytes, and 4 for each element.
            bytes = coalesce(bytes, 2)
                + (select coalesce(sum(length(message) + 4), 0)
                    from unnest(new_messages) as element(message)),
            -- Nobody continues a hold from before a write.
            fence = fence + 1,
            owner = null, holder = null, lease_until = '-infinity'
        where id = channel_id;
    return found_channel.next_sequence;
end $$;

-- Removes the messages of a channel that is not held. Its numbers go on.
create function zino_clear(channel_id text) returns void
    language plpgsql set lock_timeout = '3s' as $$
declare
    found_channel zino_channel;
begin
    select * into found_channel from zino_channel where id = channel_id for update;
    if found_channel.lease_until > clock_timestamp() then
        raise exception 'the channel is held by another owner' using errcode = 'ZN002';
    end if;
    delete from zino_entry where channel = channel_id;
    update zino_channel
        set bytes = null,
            fence = fence + 1,
            owner = null, holder = null, lease_until = '-infinity'
        where id = channel_id;
end $$;

-- Stores memories and returns the number of the first. The same call gets the same number again.
create function zino_store_memories(new_call text, bodies bytea[]) returns bigint
    language plpgsql set lock_timeout = '3s' as $$
declare
    state zino_memory_state;
    found_id bigint;
    added bigint := cardinality(bodies);
begin
    select * into state from zino_memory_state for update;
    select id into found_id from zino_memory where call = new_call;
    if found then
        return found_id;
    end if;
    if state.next_id + added > 4294967295 then
        raise exception 'there are too many memories' using errcode = 'ZN003';
    end if;
    insert into zino_memory (id, body, call, change)
        select state.next_id + number - 1, body, case when number = 1 then new_call end,
            state.change + number
        from unnest(bodies) with ordinality as element(body, number);
    update zino_memory_state set next_id = next_id + added, change = change + added;
    return state.next_id;
end $$;

-- Replaces a memory by an empty one; returns whether there was one.
create function zino_delete_memory(old_id bigint, empty_body bytea) returns boolean
    language plpgsql set lock_timeout = '3s' as $$
declare
    new_change bigint;
begin
    update zino_memory_state set change = change + 1 returning change into new_change;
    update zino_memory set body = empty_body, change = new_change where id = old_id;
    return found;
end $$;

create function zino_set_soft(new_content bytea) returns void
    language sql set lock_timeout = '3s' as $$
    insert into zino_soft (content) values (new_content)
        on conflict (only_row) do update set content = excluded.content
$$;
