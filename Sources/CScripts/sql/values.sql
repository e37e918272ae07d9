-- ---------------------------------------------------------------------------------------
-- Values. Every function runs with its owner's rights, and looks up names in pg_catalog and
-- this schema only. None is strict: NULL is an argument like others, and mostly an error.

-- Texts of errors are ASCII and hold nothing that somebody wrote to others: a client may
-- have another encoding, and servers log them.

-- Refuses a call: PG400 bad request, PG403 forbidden, PG404 not found, PG409 conflict,
-- PG413 too large. The detail of a conflict says which rev there is.
create or replace function {schema}.refuse(p_state text, p_text text, p_current jsonb)
  returns void language plpgsql {stable} as $$
begin
  if p_current is null then
    raise exception using errcode = p_state, message = p_text;
  end if;
  raise exception using errcode = p_state, message = p_text, detail = p_current::text;
end
$$;

-- What somebody gave, as an error says it: numbers as they are, texts never.
create or replace function {schema}.phrase(p_value jsonb)
  returns text language plpgsql {stable} as $$
begin
  return case jsonb_typeof(p_value)
    when 'object' then 'an object' when 'array' then 'an array'
    when 'string' then 'a string'
    else coalesce(case when length(p_value::text) > 40
      then left(p_value::text, 37) || '...' else p_value::text end, 'NULL') end;
end
$$;

-- An id or the name of a field in ASCII.
create or replace function {schema}.plain(p_text text)
  returns text language plpgsql {stable} as $$
begin
  return encode(convert_to(p_text, 'UTF8'), 'escape');
end
$$;

create or replace function {schema}.check_id(p_field text, p_value text)
  returns void language plpgsql {stable} as $$
begin
  if p_value is null or p_value = '' or octet_length(p_value) > 255
    or p_value ~ E'[\\u0001-\\u001f\\u007f-\\u009f]'
  then
    perform refuse('PG400', format(
      '%s: %s (accepted: 1-255 bytes of UTF-8 without control characters)', p_field,
      case when p_value is null then 'NULL' when p_value = '' then 'an empty text'
        when octet_length(p_value) > 255
        then format('a text of %s bytes', octet_length(p_value))
        else 'a text with a control character' end), null);
  end if;
end
$$;

create or replace function {schema}.check_ids(p_field text, p_values text[])
  returns void language plpgsql {stable} as $$
begin
  if p_values is null or cardinality(p_values) > 100000
    or coalesce(array_ndims(p_values), 1) > 1
  then
    perform refuse('PG400', format(
      '%s: %s (accepted: an array of 0-100000 ids)', p_field,
      case when p_values is null then 'NULL'
        when array_ndims(p_values) > 1 then 'an array of arrays'
        else format('an array of %s', cardinality(p_values)) end), null);
  end if;
  perform check_id(format('%s[%s]', p_field, n - 1), value)
    from unnest(p_values) with ordinality as given(value, n);
end
$$;

-- The argument of a call, which is an object.
create or replace function {schema}.check_object(p_field text, p_value jsonb)
  returns void language plpgsql {stable} as $$
begin
  if p_value is null or jsonb_typeof(p_value) <> 'object' then
    perform refuse('PG400', format(
      '%s: %s (accepted: an object)', p_field, phrase(p_value)), null);
  end if;
end
$$;

-- A field that is an object and nests at most 32 levels deep, or is not there.
create or replace function {schema}.check_nested(
  p_object jsonb, p_field text, p_may_be_null boolean)
  returns void language plpgsql {stable} as $$
declare
  value jsonb := p_object -> p_field;
begin
  if value is null or (p_may_be_null and jsonb_typeof(value) = 'null') then return; end if;
  if jsonb_typeof(value) <> 'object' then
    perform refuse('PG400', format(
      '%s: %s (accepted: an object%s)', p_field, phrase(value),
      case when p_may_be_null then ' or null' else '' end), null);
  end if;
  perform check_depth(p_field, value);
end
$$;

create or replace function {schema}.check_depth(p_field text, p_value jsonb)
  returns void language plpgsql {stable} as $$
begin
  if octet_length(p_value::text) > 64 and jsonb_path_exists(
    p_value, 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")')
  then
    perform refuse('PG400', format(
      '%s: nests deeper than 32 levels (accepted: at most 32)', p_field), null);
  end if;
end
$$;

-- A field that is a string or null; whether it is there is asked elsewhere.
create or replace function {schema}.check_text(p_object jsonb, p_field text)
  returns void language plpgsql {stable} as $$
begin
  if coalesce(jsonb_typeof(p_object -> p_field), 'null') not in ('string', 'null') then
    perform refuse('PG400', format(
      '%s: %s (accepted: a string or null)', p_field, phrase(p_object -> p_field)), null);
  end if;
end
$$;

-- A field that is an integer in a range; NULL if it is not there, or null.
create or replace function {schema}.integer_of(
  p_object jsonb, p_field text, p_low bigint, p_high bigint)
  returns bigint language plpgsql {stable} as $$
declare
  value jsonb := p_object -> p_field;
begin
  if value is null or jsonb_typeof(value) = 'null' then return null; end if;
  if jsonb_typeof(value) <> 'number' or value::numeric <> trunc(value::numeric)
    or value::numeric not between p_low and p_high
  then
    perform refuse('PG400', format(
      '%s: %s (accepted: an integer from %s to %s)', p_field, phrase(value), p_low,
      p_high), null);
  end if;
  return value::numeric::bigint;
end
$$;

-- A field that is a list of ids; NULL if it is not there.
create or replace function {schema}.ids_of(p_object jsonb, p_field text)
  returns text[] language plpgsql {stable} as $$
declare
  value jsonb := p_object -> p_field;
  ids text[];
  refused text;
begin
  if value is null then return null; end if;
  if jsonb_typeof(value) <> 'array' then
    perform refuse('PG400', format(
      '%s: %s (accepted: an array of 0-100000 ids)', p_field, phrase(value)), null);
  end if;
  select format('%s[%s]: %s (accepted: 1-255 bytes of UTF-8 without control characters)',
      p_field, n - 1, phrase(element))
    into refused
    from jsonb_array_elements(value) with ordinality as e(element, n)
    where jsonb_typeof(element) <> 'string' order by n limit 1;
  if refused is not null then perform refuse('PG400', refused, null); end if;
  select coalesce(array_agg(element order by n), '{}') into ids
    from jsonb_array_elements_text(value) with ordinality as e(element, n);
  perform check_ids(p_field, ids);
  return ids;
end
$$;

-- The fields of an object that have none of the known names.
create or replace function {schema}.unknown_of(p_object jsonb, p_known text[])
  returns jsonb language plpgsql {stable} as $$
declare
  unknown jsonb := p_object - p_known;
begin
  perform check_depth(plain(key), value) from jsonb_each(unknown);
  return unknown;
end
$$;

-- A field that is true or false; NULL if it is not there, or null.
create or replace function {schema}.flag_of(p_object jsonb, p_field text)
  returns boolean language plpgsql {stable} as $$
begin
  if coalesce(jsonb_typeof(p_object -> p_field), 'null') not in ('boolean', 'null') then
    perform refuse('PG400', format(
      '%s: %s (accepted: true or false)', p_field, phrase(p_object -> p_field)), null);
  end if;
  return nullif(p_object -> p_field, 'null')::boolean;
end
$$;

-- The users whom a message is to mention, each once, where it stands first; NULL if the field is
-- not there.
create or replace function {schema}.mentions_of(p_message jsonb)
  returns text[] language plpgsql {stable} as $$
declare
  users text[] := ids_of(p_message, 'mentions');
begin
  return case when users is not null then array(
    select value from unnest(users) with ordinality as u(value, n)
    group by value order by min(n)) end;
end
$$;

-- The content of a message that somebody sends, as it is stored.
create or replace function {schema}.content_of(p_message jsonb)
  returns json language plpgsql {stable} as $$
declare
  unknown jsonb := unknown_of(p_message, known_in_message());
  content jsonb := '{}';
  field text;
begin
  perform check_text(p_message, 'body');
  perform check_nested(p_message, 'attachment', true);
  perform check_nested(p_message, 'metadata', false);
  foreach field in array array['body', 'attachment', 'metadata'] loop
    if coalesce(jsonb_typeof(p_message -> field), 'null') <> 'null' then
      content := content || jsonb_build_object(field, p_message -> field);
    end if;
  end loop;
  if content = '{}' and unknown = '{}' then
    perform refuse(
      'PG400', 'body: missing (accepted: a body, an attachment or metadata)', null);
  end if;
  if coalesce(jsonb_typeof(p_message -> 'replyTo'), 'null') <> 'null' then
    if jsonb_typeof(p_message -> 'replyTo') <> 'string' then
      perform refuse('PG400', format(
        'replyTo: %s (accepted: 1-255 bytes of UTF-8 without control characters)',
        phrase(p_message -> 'replyTo')), null);
    end if;
    perform check_id('replyTo', p_message ->> 'replyTo');
    content := content || jsonb_build_object(
      'replyTo', jsonb_build_object('id', p_message -> 'replyTo'));
  end if;
  if cardinality(mentions_of(p_message)) > 0 then
    content := content || jsonb_build_object('mentions', mentions_of(p_message));
  end if;
  if flag_of(p_message, 'mentionAll') then
    content := content || '{"mentionAll": true}';
  end if;
  if unknown <> '{}' then
    content := content || jsonb_build_object('unknown', unknown);
  end if;
  return content::json;
end
$$;

-- Names that the protocol uses itself: what comes under them is not kept as unknown.
create or replace function {schema}.known_in_message()
  returns text[] language plpgsql {stable} as $$
begin
  return array[
    'id', 'conversation', 'seq', 'rev', 'author', 'body', 'attachment', 'metadata',
    'createdAt', 'editedAt', 'deleted', 'cached', 'trimmed', 'ifRev', 'reactions',
    'contentRev', 'replyTo', 'mentions', 'mentionAll'];
end
$$;

create or replace function {schema}.known_in_conversation()
  returns text[] language plpgsql {stable} as $$
begin
  return array[
    'id', 'title', 'participants', 'participantCount', 'admins', 'metadata', 'createdAt',
    'updatedAt', 'rev', 'lastMessage', 'head', 'unreadCount', 'lastReadSeq',
    'conversation', 'distinct', 'users', 'cached', 'createdBy', 'ifRev', 'unreadMentions'];
end
$$;

-- Stands for what was first sent: equal for what is equal as JSON. What no earlier version knew
-- changes nothing where it is not there.
create or replace function {schema}.content_hash(p_content json)
  returns bytea language plpgsql {stable} as $$
begin
  return (
    select sha256(convert_to((jsonb_build_object(
        'body', c -> 'body', 'attachment', c -> 'attachment',
        'metadata', coalesce(nullif(c -> 'metadata', 'null'), '{}'),
        'unknown', coalesce(nullif(c -> 'unknown', 'null'), '{}'))
      || case when c ?| array['replyTo', 'mentions', 'mentionAll']
        then jsonb_build_object('address', jsonb_build_array(
          c #> '{replyTo,id}', c -> 'mentions', c -> 'mentionAll'))
        else '{}' end)::text, 'UTF8'))
    from (select p_content::jsonb as c) as given
  );
end
$$;

-- ---------------------------------------------------------------------------------------
-- Limits: what a value may become. One that is above a limit already may shrink, not grow.

insert into {schema}.settings (name, value) values
  ('limits.message', 32768), ('limits.record', 32768), ('limits.unknown_fields', 100),
  ('limits.participants', 10000), ('limits.admins', 100),
  ('limits.reaction_keys', 32), ('limits.reactions', 100000), ('limits.mentions', 50),
  ('enabled', 101),
  ('retain_ids', 604800000)
  on conflict (name) do nothing;

create or replace function {schema}.setting(p_name text)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select value from settings where name = p_name
  );
end
$$;

-- Whether only gateways of this version share the log, as somebody has said: an earlier one would
-- lose reactions, replies and mentions.
create or replace function {schema}.is_enabled()
  returns boolean language plpgsql {stable} as $$
begin
  return coalesce(setting('enabled') >= 102, false);
end
$$;

-- Refuses a call for what an earlier gateway would lose, as long as one may share the log.
create or replace function {schema}.check_enabled()
  returns void language plpgsql {stable} as $$
begin
  if not is_enabled() then
    perform refuse('PG403', 'not enabled (accepted: after `gapless enable 1.2`)', null);
  end if;
end
$$;

-- Refuses a value that grows beyond a limit.
create or replace function {schema}.hold(
  p_name text, p_value bigint, p_before bigint, p_format text)
  returns void language plpgsql {stable} as $$
declare
  most bigint := setting(p_name);
begin
  if p_value > most and p_value > p_before then
    perform refuse('PG413', format(
      p_format || ', at most %s are accepted (%s)', p_value, most, p_name), null);
  end if;
end
$$;

-- The bytes of names and values.
create or replace function {schema}.size_of_unknown(p_unknown json)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select coalesce(sum(octet_length(key) + octet_length(value::text)), 0)
    from json_each(coalesce(p_unknown, '{}'))
  );
end
$$;

create or replace function {schema}.size_of_metadata(p_metadata json)
  returns bigint language plpgsql {stable} as $$
begin
  return case when p_metadata::text in ('{}', 'null') then 0
    else coalesce(octet_length(p_metadata::text), 0) end;
end
$$;

create or replace function {schema}.size_of_content(p_content json)
  returns bigint language plpgsql {stable} as $$
begin
  return coalesce(octet_length(p_content ->> 'body'), 0)
    + coalesce(octet_length(nullif((p_content -> 'attachment')::text, 'null')), 0)
    + size_of_metadata(p_content -> 'metadata')
    + size_of_unknown(p_content -> 'unknown');
end
$$;

create or replace function {schema}.count_of_unknown(p_unknown json)
  returns bigint language plpgsql {stable} as $$
begin
  return (
    select count(*) from json_object_keys(coalesce(p_unknown, '{}'))
  );
end
$$;

-- Fields, with those of another object in the place of the same names or behind; null
-- takes one out.
create or replace function {schema}.merged(p_old json, p_new json)
  returns json language plpgsql {stable} as $$
begin
  return (
    with before as (
      select key, value, n from json_each(coalesce(p_old, '{}')) with ordinality
        as o(key, value, n)
    ), given as (
      select key, value, n from json_each(coalesce(p_new, '{}')) with ordinality
        as o(key, value, n)
    ), after as (
      select key, value, n from before where key not in (select key from given)
      union all
      select key, value,
        coalesce((select min(n) from before where before.key = given.key), n + 1000000000)
      from given where json_typeof(value) <> 'null'
    )
    select coalesce(json_object_agg(key, value order by n), '{}') from after
  );
end
$$;

-- A random mark, which no other log has.
create or replace function {schema}.new_mark()
  returns text language plpgsql {volatile} as $$
begin
  return (
    select left(digits, 12) || right(digits, 4)
    from (select encode(uuid_send(gen_random_uuid()), 'hex') as digits) as drawn
  );
end
$$;
