-- Moves a marker. An open transaction of an application may hold the marker: the function
-- waits for it no longer than p_patience, and answers false.
create or replace function {schema}.move_marker(
  p_conversation text, p_reader text, p_seq bigint, p_patience text)
  returns boolean language plpgsql {volatile} as $$
begin
  perform from reads where conversation = p_conversation and user_id = p_reader
    for no key update skip locked;
  if found then
    update reads set seq = greatest(seq, p_seq)
      where conversation = p_conversation and user_id = p_reader;
    return true;
  end if;
  -- It is locked, or there is none; somebody else's first one nobody sees yet.
  perform set_config('lock_timeout', p_patience, true);
  insert into reads (conversation, user_id, seq) values (p_conversation, p_reader, p_seq)
    on conflict (conversation, user_id)
    do update set seq = greatest(reads.seq, excluded.seq);
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- Read markers, and what is no change of any log. No lock of a conversation is waited for.
create or replace function {schema}.signal_read(p_signal json, p_patience text)
  returns json language plpgsql {volatile} as $$
declare
  c conversations;
  reader text := p_signal ->> 'user';
  wanted bigint := (p_signal ->> 'seq')::bigint;
  place bigint;
  rose boolean;
begin
  select * into c from conversations where id = p_signal ->> 'c';
  if not found or not exists (
    select from members where conversation = c.id and user_id = reader)
  then
    return json_build_object('word', 'absent');
  elsif wanted < 0 or wanted > c.seq then
    return json_build_object('word', 'range', 'seq', c.seq);
  end if;
  place := read_by(c.id, reader);
  rose := wanted > place;
  if rose then
    if not move_marker(c.id, reader, wanted, p_patience) then
      return json_build_object('word', 'locked');
    end if;
    place := read_by(c.id, reader);
  end if;
  return json_build_object(
    'word', 'done', 'read', place, 'unread', unread_above(c, place),
    'mentions', unread_mentions(c, reader, place), 'rose', rose);
end
$$;

create or replace function {schema}.gateway_signal(signals json)
  returns setof json language plpgsql {volatile} as $$
declare
  given record;
  answers json[] := '{}';
  told bigint;
  patience text := '50ms';
  channel text := (select 'gapless_' || id || '_s' from installation);
begin
  if signals is null or json_typeof(signals) <> 'array' then
    perform refuse('PG400', 'signals: NULL (accepted: an array)', null);
  end if;
  -- Markers in the order of their rows, so that two gateways don't wait for each other.
  for given in
    select value, n from json_array_elements(signals) with ordinality as s(value, n)
    order by value ->> 's' = 'read', value ->> 'c' collate "C",
      value ->> 'user' collate "C", n
  loop
    case given.value ->> 's'
    when 'read' then
      answers[given.n] := signal_read(given.value, patience);
      -- Who comes together waits for one that is locked, and not for each of them.
      if answers[given.n] ->> 'word' = 'locked' then patience := '1ms'; end if;
    when 'ring' then
      perform pg_notify(channel, given.value ->> 'payload');
      answers[given.n] := json_build_object('word', 'done');
    when 'enable' then
      insert into settings (name, value) values ('enabled', 102)
        on conflict (name) do update set value = excluded.value;
      answers[given.n] := json_build_object('word', 'done');
    when 'disconnect' then
      delete from disconnects where at < clock_timestamp() - interval '1 hour';
      insert into disconnects (user_id, may_return, told_by)
        values (
          given.value ->> 'user', coalesce((given.value ->> 'back')::boolean, false),
          coalesce(given.value ->> 'by', ''))
        returning id into told;
      perform pg_notify(channel, json_build_object('d', told)::text);
      answers[given.n] := json_build_object('word', 'done', 'n', told);
    end case;
  end loop;
  return query select a from unnest(answers) with ordinality as t(a, n) order by n;
end
$$;

-- Limits of the gateways' configuration, for the functions above.
create or replace function {schema}.gateway_settings(settings json)
  returns void language plpgsql {volatile} as $$
begin
  if settings is null or json_typeof(settings) <> 'object' then
    perform refuse('PG400', 'settings: NULL (accepted: an object)', null);
  end if;
  update settings s set value = given.value::bigint
    from json_each_text(gateway_settings.settings) as given(key, value)
    where s.name = given.key and s.value <> given.value::bigint;
end
$$;
