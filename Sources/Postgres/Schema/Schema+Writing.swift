/// Functions that write a log, for all callers: each caller has locked the conversation before.
extension Schema {
    static let locking = #"""
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
        """#

    static let messageWrites = #"""
        -- Appends messages, each with id, given (whether its author gave the id), author and
        -- content: all of them or none, and each once, however often it is sent. Ids of messages
        -- that are gone are known for so many milliseconds.
        create or replace function {schema}.append_messages(
          c {schema}.conversations, p_messages json, p_retain_ids bigint)
          returns json language plpgsql {volatile} as $$
        declare
          entry json;
          n integer := 0;
          m messages;
          gone trimmed;
          hashes bytea[] := '{}';
          again integer[] := '{}';
          sent json[] := '{}';
          earlier jsonb := '{}';
          at integer;
          present timestamptz :=
            greatest(date_trunc('milliseconds', clock_timestamp()), c.activity);
          first bigint := c.seq;
        begin
          -- All is decided before the first is written.
          for entry in select value from json_array_elements(p_messages) loop
            n := n + 1;
            hashes[n] := content_hash(entry -> 'content');
            sent[n] := null;
            again[n] := null;
            continue when not coalesce((entry ->> 'given')::boolean, false);
            select * into m from messages where conversation = c.id and id = entry ->> 'id';
            if found then
              if m.hash <> hashes[n] or m.author <> entry ->> 'author' then
                return json_build_object('word', 'taken');
              end if;
              sent[n] := message_json(m);
              continue;
            end if;
            select * into gone from trimmed
              where conversation = c.id and id = entry ->> 'id' and seq < c.floor
                and created_at >= present - p_retain_ids * interval '1 millisecond';
            if found then
              if gone.hash <> hashes[n] or gone.author <> entry ->> 'author' then
                return json_build_object('word', 'taken');
              end if;
              sent[n] := trimmed_json(gone);
              continue;
            end if;
            at := earlier -> (entry ->> 'id') -> 'n';
            if at is null then
              earlier := earlier || jsonb_build_object(
                entry ->> 'id', jsonb_build_object('n', n, 'author', entry ->> 'author'));
            elsif hashes[at] <> hashes[n]
              or earlier -> (entry ->> 'id') ->> 'author' <> entry ->> 'author'
            then
              return json_build_object('word', 'taken');
            else
              again[n] := at;
            end if;
          end loop;

          n := 0;
          for entry in select value from json_array_elements(p_messages) loop
            n := n + 1;
            continue when sent[n] is not null;
            if again[n] is not null then
              sent[n] := sent[again[n]];
              continue;
            end if;
            c.seq := c.seq + 1;
            c.rev := c.rev + 1;
            c.mark := new_mark();
            insert into changes (conversation, rev, mark, slot, at)
              values (c.id, c.rev, c.mark, c.seq, present);
            insert into messages (
                conversation, seq, rev, id, author, content, created_at, first_rev, hash)
              values (
                c.id, c.seq, c.rev, entry ->> 'id', entry ->> 'author', entry -> 'content',
                present, c.rev, hashes[n])
              returning * into m;
            insert into authors (conversation, user_id, seq) values (c.id, m.author, m.seq)
              on conflict (conversation, user_id) do update set seq = excluded.seq;
            -- An id that was free again is not that of the older message any more.
            delete from trimmed where conversation = c.id and id = m.id;
            sent[n] := message_json(m);
          end loop;
          if c.seq > first then
            update conversations
              set seq = c.seq, rev = c.rev, mark = c.mark, last_seq = c.seq, activity = present
              where id = c.id;
            perform ring(c.id);
          end if;
          return json_build_object(
            'word', 'done', 'head', head_json(c), 'new', c.seq - first,
            'sent', array_to_json(sent));
        end
        $$;

        -- Gives a message another content, or makes a tombstone of it (no content).
        create or replace function {schema}.replace_message(
          c {schema}.conversations, m {schema}.messages, p_content json)
          returns {schema}.messages language plpgsql {volatile} as $$
        declare
          present timestamptz :=
            greatest(date_trunc('milliseconds', clock_timestamp()), m.created_at);
          drawn text := new_mark();
        begin
          insert into changes (conversation, rev, mark, slot, at)
            values (c.id, c.rev + 1, drawn, m.seq, present);
          if p_content is not null then m.edited_at := present; end if;
          m.rev := c.rev + 1;
          m.content := p_content;
          m.deleted := p_content is null;
          update messages
            set rev = m.rev, content = m.content, edited_at = m.edited_at, deleted = m.deleted
            where conversation = c.id and seq = m.seq;
          if m.deleted and c.last_seq = m.seq then
            select coalesce(max(seq), 0) into c.last_seq from (
              select seq from messages
              where conversation = c.id and seq < m.seq and seq >= c.floor and not deleted
              order by seq desc limit 1) as newest;
          end if;
          update conversations
            set rev = m.rev, mark = drawn, last_seq = c.last_seq where id = c.id;
          perform ring(c.id);
          return m;
        end
        $$;
        """#

    static let recordWrites = #"""
        -- Tells the lists of some people that a conversation came into them, or left them.
        create or replace function {schema}.tell_lists(
          p_conversation text, p_users text[], p_is_in boolean)
          returns void language sql {volatile} as $$
          insert into list_changes (user_id, conversation, is_in, mark)
          select user_id, p_conversation, p_is_in, new_mark() from unnest(p_users) as t(user_id)
        $$;

        -- The conversation with the number of those who are there, for who names them all.
        create or replace function {schema}.counted(c {schema}.conversations)
          returns {schema}.conversations language plpgsql {stable} as $$
        begin
          select count(*) into c.participants from members where conversation = c.id;
          return c;
        end
        $$;

        -- Writes slot 0 as the arguments say: one change. Who is written (user, admin, name,
        -- metadata, unknown) and takes part already keeps the place; all others join behind.
        create or replace function {schema}.write_record(
          c {schema}.conversations, p_title text, p_metadata json, p_unknown json,
          p_written json, p_leaving text[], p_created_by text, p_people bytea)
          returns {schema}.conversations language plpgsql {volatile} as $$
        declare
          present timestamptz :=
            greatest(date_trunc('milliseconds', clock_timestamp()), c.updated_at);
          gone text[];
          known text[];
          joined text[];
        begin
          c.rev := c.rev + 1;
          c.mark := new_mark();
          -- First, since whoever leaves may come back with the same call.
          with left_now as (
            delete from members where conversation = c.id and user_id = any (p_leaving)
            returning user_id
          ) select coalesce(array_agg(user_id), '{}') into gone from left_now;
          -- Whoever joins has read nothing but what they wrote.
          delete from reads where conversation = c.id and user_id = any (gone);
          -- Each is looked up by itself, however many take part.
          known := array(
            select user_id from members where conversation = c.id and user_id = any (array(
              select value ->> 'user' from json_array_elements(coalesce(p_written, '[]')))));
          with written as (
            select distinct on (value ->> 'user') value ->> 'user' as user_id,
              coalesce((value ->> 'admin')::boolean, false) as is_admin,
              value ->> 'name' as name, value -> 'metadata' as metadata,
              value -> 'unknown' as unknown, n
            from json_array_elements(coalesce(p_written, '[]')) with ordinality as w(value, n)
            order by value ->> 'user', n desc
          ), changed as (
            update members m
            set is_admin = w.is_admin, name = w.name,
              metadata = case when json_typeof(w.metadata) <> 'null' then w.metadata end,
              unknown = case when json_typeof(w.unknown) = 'object' then w.unknown else '{}' end,
              updated_at = present
            from written w
            where m.conversation = c.id and m.user_id = any (known)
              and m.user_id = w.user_id
            returning m.user_id
          ), inserted as (
            insert into members (
              conversation, user_id, place, is_admin, name, metadata, unknown, created_at,
              updated_at)
            select c.id, w.user_id, c.joins + row_number() over (order by w.n), w.is_admin, w.name,
              case when json_typeof(w.metadata) <> 'null' then w.metadata end,
              case when json_typeof(w.unknown) = 'object' then w.unknown else '{}' end,
              present, present
            from written w
            where not exists (select from unnest(known) u where u = w.user_id)
            returning user_id, place
          ) select coalesce(array_agg(user_id order by place), '{}') into joined from inserted;
          insert into changes (conversation, rev, mark, slot, at, joined, gone)
            values (c.id, c.rev, c.mark, 0, present, joined, gone);
          c.joins := c.joins + cardinality(joined);
          c.participants := c.participants - cardinality(gone) + cardinality(joined);
          select count(*) into c.admins from members where conversation = c.id and is_admin;
          c.title := p_title;
          c.metadata := coalesce(p_metadata, '{}');
          c.unknown := coalesce(p_unknown, '{}');
          c.updated_at := present;
          if c.rev = 1 then c.created_at := present; end if;
          c.activity := greatest(c.activity, present);
          c.record_rev := c.rev;
          c.created_by := coalesce(p_created_by, c.created_by);
          c.people := coalesce(p_people, c.people);
          update conversations
            set rev = c.rev, mark = c.mark, record_rev = c.record_rev, title = c.title,
              metadata = c.metadata, unknown = c.unknown, created_at = c.created_at,
              updated_at = c.updated_at,
              activity = c.activity, created_by = c.created_by, people = c.people,
              participants = c.participants, admins = c.admins, joins = c.joins
            where id = c.id;
          perform tell_lists(c.id, gone, false);
          perform tell_lists(c.id, joined, true);
          perform ring(c.id);
          return c;
        end
        $$;

        -- Removes a log with all that belongs to it.
        create or replace function {schema}.remove_log(c {schema}.conversations)
          returns void language plpgsql {volatile} as $$
        begin
          perform tell_lists(c.id, array(
            select user_id from members where conversation = c.id order by place), false);
          delete from members where conversation = c.id;
          delete from messages where conversation = c.id;
          delete from changes where conversation = c.id;
          delete from reads where conversation = c.id;
          delete from authors where conversation = c.id;
          delete from trimmed where conversation = c.id;
          delete from distincts where people = c.people and conversation = c.id;
          delete from conversations where id = c.id;
          perform ring(c.id);
        end
        $$;
        """#
}
