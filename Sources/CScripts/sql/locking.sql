-- ---------------------------------------------------------------------------------------
-- Writing. The conversation's row is locked first, in a statement of its own, so that all
-- that follows reads what the transaction before has written; and until the transaction
-- ends, so that numbers become visible in their order and none is left out.

-- The conversation, locked; no id: there is none, or (not waiting) somebody else has it.
create or replace function {schema}.lock_conversation(p_id text, p_waits boolean)
  returns {schema}.conversations language plpgsql {volatile} as $$
declare
  c conversations;
begin
  if not p_waits then
    select * into c from conversations where id = p_id for no key update skip locked;
    return c;
  end if;
  loop
    select * into c from conversations where id = p_id for no key update;
    -- Whoever waited for one who deleted it and created it again does not see the new row
    -- before the next statement.
    exit when found or not exists (select from conversations where id = p_id);
  end loop;
  return c;
end
$$;

-- The same, for a call that is refused where there is none.
create or replace function {schema}.lock_existing(p_id text)
  returns {schema}.conversations language plpgsql {volatile} as $$
declare
  c conversations;
begin
  perform check_id('conversation', p_id);
  c := lock_conversation(p_id, true);
  if c.id is null then
    perform refuse('PG404', 'conversation: no such conversation', null);
  end if;
  if not is_whole(c) then
    raise exception using errcode = 'XX001',
      message = format(
        'conversation %s: its newest changes contradict its head', plain(c.id)),
      hint = 'something other than these functions wrote or deleted rows of this log';
  end if;
  return c;
end
$$;

-- Whether a log can go on from its head: that change is there, and nothing behind it. What
-- is behind it is looked for from the end: a plan for no log in particular would expect a
-- third of the table there, and read all of it.
create or replace function {schema}.is_whole(c {schema}.conversations)
  returns boolean language plpgsql {stable} as $$
begin
  return (
    select (c.rev = 0 or exists (
        select from changes where conversation = c.id and rev = c.rev and mark = c.mark))
      and c.rev >= coalesce((
        select rev from changes where conversation = c.id order by rev desc limit 1), 0)
      and c.seq >= coalesce((
        select seq from messages where conversation = c.id order by seq desc limit 1), 0)
      and (c.seq < c.floor or exists (
        select from messages where conversation = c.id and seq = c.seq))
  );
end
$$;

-- A new conversation without any change, locked; no id: it is there already, or (not
-- waiting) somebody else is about to create it.
create or replace function {schema}.begin_conversation(p_id text, p_waits boolean)
  returns {schema}.conversations language plpgsql {volatile} as $$
declare
  c conversations;
  present timestamptz;
  name bigint := hashtextextended('conversation:' || p_id, 0);
begin
  if p_waits then
    perform pg_advisory_xact_lock(name);
  elsif not pg_try_advisory_xact_lock(name) then
    return null;
  end if;
  present := date_trunc('milliseconds', clock_timestamp());
  insert into conversations (id, epoch, activity, created_at, updated_at)
    values (p_id, new_mark(), present, present, present)
    on conflict (id) do nothing returning * into c;
  return c;
end
$$;

-- Rings the doorbell: the payload says which conversation, and nothing else.
create or replace function {schema}.ring(p_conversation text)
  returns void language plpgsql {volatile} as $$
begin
  perform pg_notify('gapless_' || id, p_conversation) from installation;
end
$$;
