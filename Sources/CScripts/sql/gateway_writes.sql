-- ---------------------------------------------------------------------------------------
-- For gateways: what they have written. Beside done and absent: stale (what was decided
-- upon has changed), taken, locked (somebody else has the conversation), unstorable (no
-- jsonb), error.

-- Why a value is no jsonb: the SQLSTATE; NULL: it is.
create or replace function {schema}.not_jsonb(p_value json)
  returns text language plpgsql {stable} as $$
begin
  perform p_value::jsonb;
  return null;
exception when data_exception or program_limit_exceeded then
  return sqlstate;
end
$$;

-- The field of an operation that is no jsonb. No field can be taken out of what has an
-- escape that stands for no character, so a mark is in its place here.
create or replace function {schema}.not_jsonb_field(p_marked json)
  returns text language plpgsql {stable} as $$
declare
  field text;
  entry json;
  part json;
begin
  foreach field in array array[
    'messages', 'write', 'content', 'body', 'attachment', 'metadata', 'unknown', 'title',
    'name', 'id', 'author', 'c']
  loop
    part := p_marked -> field;
    continue when part is null
      or strpos(part::text, chr(57344)) = 0 and not_jsonb(part) is null;
    if json_typeof(part) = 'array' and field in ('messages', 'write') then
      for entry in select value from json_array_elements(part) loop
        if not_jsonb_field(entry) is not null then return not_jsonb_field(entry); end if;
      end loop;
    elsif json_typeof(part) = 'object' and field = 'content' then
      return coalesce(not_jsonb_field(part), field);
    end if;
    return field;
  end loop;
  return null;
end
$$;

create or replace function {schema}.unstorable(p_operation json)
  returns json language plpgsql {stable} as $$
declare
  state text := not_jsonb(p_operation);
begin
  if state is null then return null; end if;
  return json_build_object('word', 'unstorable', 'state', state, 'field',
    not_jsonb_field(regexp_replace(replace(p_operation::text, E'\\\\', '__'),
      E'\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', chr(57344), 'g')::json));
end
$$;

create or replace function {schema}.write_append(
  c {schema}.conversations, p_operation json)
  returns json language plpgsql {volatile} as $$
begin
  if p_operation ->> 'caller' is not null and not exists (
    select from members
    where conversation = c.id and user_id = p_operation ->> 'caller')
  then
    return json_build_object('word', 'absent');
  end if;
  return append_messages(
    c, p_operation -> 'messages', coalesce((p_operation ->> 'retainIds')::bigint, 0));
end
$$;

create or replace function {schema}.write_replacement(
  c {schema}.conversations, p_operation json)
  returns json language plpgsql {volatile} as $$
declare
  m messages;
begin
  select * into m from messages
    where conversation = c.id and id = p_operation ->> 'id' and seq >= c.floor;
  if not found or c.epoch <> p_operation ->> 'epoch'
    or c.record_rev <> (p_operation ->> 'recordRev')::bigint
    or m.rev <> (p_operation ->> 'rev')::bigint
  then
    return json_build_object('word', 'stale');
  end if;
  if p_operation ->> 'kind' = 'r' then
    m := write_reaction(
      c, m, p_operation ->> 'user', p_operation ->> 'key', (p_operation ->> 'on')::boolean,
      p_operation -> 'content');
  else
    m := replace_message(c, m, case when p_operation ->> 'kind' = 'u'
      then coalesce(p_operation -> 'content', '{}') end);
  end if;
  select * into c from conversations where id = c.id;
  return json_build_object(
    'word', 'done', 'head', head_json(c), 'message', message_json(m));
end
$$;

create or replace function {schema}.write_change(
  c {schema}.conversations, p_operation json)
  returns json language plpgsql {volatile} as $$
begin
  if (p_operation ->> 'mends')::boolean then c := counted(c); end if;
  c := write_record(
    c, p_operation ->> 'title', given_object(p_operation, 'metadata'),
    given_object(p_operation, 'unknown'), given_list(p_operation, 'write'),
    array(select value from json_array_elements_text(given_list(p_operation, 'leave'))),
    p_operation ->> 'createdBy', decode(p_operation ->> 'people', 'hex'));
  return json_build_object(
    'word', 'done', 'view', view_json(c, p_operation ->> 'viewer', '{}'));
end
$$;

create or replace function {schema}.given_object(p_operation json, p_field text)
  returns json language plpgsql {stable} as $$
begin
  return case when json_typeof(p_operation -> p_field) = 'object'
    then p_operation -> p_field else '{}' end;
end
$$;

create or replace function {schema}.given_list(p_operation json, p_field text)
  returns json language plpgsql {stable} as $$
begin
  return case when json_typeof(p_operation -> p_field) = 'array'
    then p_operation -> p_field else '[]' end;
end
$$;

-- A new conversation; with people, one that is there with just these users.
create or replace function {schema}.write_creation(p_operation json, p_waits boolean)
  returns json language plpgsql {volatile} as $$
declare
  c conversations;
  key bytea := decode(p_operation ->> 'people', 'hex');
  users text[] := array(
    select value from json_array_elements_text(given_list(p_operation, 'users')));
  most bigint := coalesce((p_operation ->> 'creatorLimit')::bigint, 0);
  count bigint;
  name bigint;
begin
  if key is not null then
    -- Two who want the same come one after the other.
    name := hashtextextended('people:' || encode(key, 'hex'), 0);
    if p_waits then
      perform pg_advisory_xact_lock(name);
    elsif not pg_try_advisory_xact_lock(name) then
      return json_build_object('word', 'locked');
    end if;
    c := distinct_of(key, users);
    if c.id is not null then
      return json_build_object(
        'word', 'there', 'view', view_json(c, p_operation ->> 'viewer', '{}'));
    end if;
  end if;
  if most > 0 and p_operation ->> 'creator' is not null then
    count := (
      select count(*) from conversations where created_by = p_operation ->> 'creator');
    if count >= most then
      return json_build_object('word', 'full', 'count', count);
    end if;
  end if;
  c := begin_conversation(p_operation ->> 'c', p_waits);
  if c.id is null then
    if not p_waits and not exists (
      select from conversations where id = p_operation ->> 'c')
    then
      return json_build_object('word', 'locked');
    end if;
    return json_build_object('word', 'taken', 'member', exists (
      select from members
      where conversation = p_operation ->> 'c' and user_id = p_operation ->> 'viewer'));
  end if;
  if key is not null then
    insert into distincts (people, conversation) values (key, c.id)
      on conflict (people) do update set conversation = excluded.conversation;
  end if;
  return write_change(c, p_operation);
end
$$;

-- Somebody saw a change that this log may have lost. A change whose mark is no longer kept is no
-- reason: who saw it is behind, and the log is sound.
create or replace function {schema}.write_disowning(
  c {schema}.conversations, p_operation json)
  returns json language plpgsql {volatile} as $$
declare
  seen bigint := (p_operation ->> 'rev')::bigint;
  reason text := '';
begin
  if c.epoch = p_operation ->> 'epoch' and seen > c.base and seen <= c.rev
    and not exists (select from changes where conversation = c.id and rev = seen)
  then
    return damaged('revs');
  end if;
  if c.epoch = p_operation ->> 'epoch' and seen > c.base and not exists (
    select from changes
    where conversation = c.id and rev = seen and rev <= c.rev
      and mark = p_operation ->> 'mark')
  then
    reason := case when seen > c.rev then 'rewound' else 'forked' end;
    c.epoch := p_operation ->> 'newEpoch';
    update conversations set epoch = c.epoch where id = c.id;
    perform ring(c.id);
  end if;
  return json_build_object('word', 'done', 'head', head_json(c), 'reason', reason);
end
$$;

-- One operation on a conversation that is not locked yet.
create or replace function {schema}.write_operation(p_operation json, p_waits boolean)
  returns json language plpgsql {volatile} as $$
declare
  c conversations;
  kind text := p_operation ->> 'op';
begin
  if kind = 'record' and p_operation ->> 'epoch' is null then
    return write_creation(p_operation, p_waits);
  end if;
  c := lock_conversation(p_operation ->> 'c', p_waits);
  if c.id is null then
    return json_build_object('word', case when not p_waits and exists (
        select from conversations where id = p_operation ->> 'c')
      then 'locked' else 'absent' end);
  end if;
  if kind = 'disown' then return write_disowning(c, p_operation); end if;
  if kind in ('record', 'remove') and (c.epoch <> p_operation ->> 'epoch'
    or c.record_rev <> (p_operation ->> 'recordRev')::bigint)
  then
    return json_build_object('word', 'stale');
  end if;
  if kind = 'remove' then
    perform remove_log(c);
    return json_build_object('word', 'done');
  end if;
  if not is_whole(c) then return damaged('head'); end if;
  case kind
  when 'append' then return write_append(c, p_operation);
  when 'replace' then return write_replacement(c, p_operation);
  when 'record' then return write_change(c, p_operation);
  end case;
end
$$;

-- All of them, an answer each. What would have to wait puts off what follows it in the same
-- conversation, so that the order stays. With apart each is whole or not at all by itself.
create or replace function {schema}.write_all(
  p_operations json, p_waits boolean, p_is_storable boolean, p_apart boolean)
  returns json[] language plpgsql {volatile} as $$
declare
  operation json;
  answer json;
  answers json[] := '{}';
  put_off text[] := '{}';
begin
  for operation in select value from json_array_elements(p_operations) loop
    answer := case when not p_is_storable then unstorable(operation) end;
    if answer is null and operation ->> 'c' = any (put_off) then
      answer := json_build_object('word', 'locked');
    elsif answer is null and not p_apart then
      answer := write_operation(operation, p_waits);
    elsif answer is null then
      begin
        answer := write_operation(operation, p_waits);
      exception when others then
        if concerns_all(sqlstate) then raise; end if;
        answer := json_build_object('word', 'error', 'state', sqlstate);
      end;
    end if;
    if answer ->> 'word' = 'locked' then
      put_off := put_off || (operation ->> 'c');
    end if;
    answers := answers || answer;
  end loop;
  return answers;
end
$$;

-- Whether an error befalls the whole transaction, or the server.
create or replace function {schema}.concerns_all(p_state text)
  returns boolean language plpgsql {stable} as $$
begin
  return left(p_state, 2) in ('25', '40', '53', '54', '55', '57', '58', 'XX');
end
$$;

-- Operations of a turn. Alone, one waits for its conversation; together none waits. Mostly
-- all of them succeed, and one subtransaction is enough.
create or replace function {schema}.gateway_write(operations json, alone boolean)
  returns setof json language plpgsql {volatile} as $$
declare
  answers json[];
  is_storable boolean := not_jsonb(operations) is null;
begin
  if operations is null or json_typeof(operations) <> 'array' or alone is null then
    perform refuse(
      'PG400', 'operations, alone: NULL (accepted: an array and a boolean)', null);
  end if;
  begin
    answers := write_all(operations, alone, is_storable, false);
  exception when others then
    if concerns_all(sqlstate) then raise; end if;
    answers := write_all(operations, alone, is_storable, true);
  end;
  return query select a from unnest(answers) with ordinality as t(a, n) order by n;
end
$$;
