/// Queries on the database's catalogue.
extension Installation {
    /// Of a schema's functions: name, signature, arguments and result, body, whether they run with
    /// the owner's rights, what is set for them if that is not what is to be, whether everybody may
    /// execute them, volatility, whether strict, an owner who is not the schema's, others than the
    /// roles who may execute them. The parameters behind the schema: each role with its functions.
    static let functions = """
        select p.proname, p.oid::regprocedure, format('(%s) returns %s', (
            select string_agg(case when mode = 'o' then 'out ' else '' end || argument || ' '
              || replace(format_type(t, null), quote_ident($1) || '.', ''), ', ' order by place)
            from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames,
              p.proargmodes) with ordinality as a(t, argument, mode, place)),
            replace(replace(pg_get_function_result(p.oid), quote_ident($1) || '.', ''),
              'SETOF', 'setof')),
          p.prosrc, p.prosecdef,
          nullif(coalesce(array_to_string(p.proconfig, '; '), 'nothing'),
            'search_path=pg_catalog, ' || quote_ident($1) || ', pg_temp'),
          exists (
            select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            where a.grantee = 0),
          p.provolatile, p.proisstrict,
          case when p.proowner <> n.nspowner then p.proowner::regrole end, (
            select string_agg(distinct a.grantee::regrole::text, ', ')
            from aclexplode(p.proacl) a left join pg_roles r on r.oid = a.grantee
            where a.grantee not in (0, p.proowner) and p.proname <> all ($5::text[])
              and not (r.rolname = $2 and p.proname = any ($3::text[]))
              and not (r.rolname = $4 and p.proname = any ($5::text[])))
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = $1 order by p.proname, 2
        """

    /// Objects outside the schema that depend on a function.
    static let dependents = """
        select distinct coalesce(
            'view ' || v.oid::regclass, 'function ' || f.oid::regprocedure,
            'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass,
            pg_describe_object(d.classid, d.objid, d.objsubid))
        from pg_depend d
        left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
        left join pg_class v on v.oid = r.ev_class
        left join pg_proc f on d.classid = 'pg_proc'::regclass and f.oid = d.objid
        left join pg_trigger t on d.classid = 'pg_trigger'::regclass and t.oid = d.objid
        where d.refclassid = 'pg_proc'::regclass and d.refobjid = $1::regprocedure
          and d.deptype in ('n', 'a')
        """

    static let columns = """
        select c.relname || '.' || a.attname, format_type(a.atttypid, null) || case
            when a.attcollation <> 0 and l.collname <> 'default'
            then ' collate "' || l.collname || '"' else '' end
            || case when a.attnotnull then ' not null' else '' end
            || case when a.atthasdef or a.attidentity <> '' then ' default' else '' end
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_collation l on l.oid = a.attcollation
        where n.nspname = $1 and c.relkind = 'r'
        """

    static let indexes = """
        select c.relname, case when i.indisunique then 'unique ' else '' end || 'on ' || t.relname
          || ' ' || lower(substring(pg_get_indexdef(c.oid) from ' USING btree (.*)$'))
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_index i on i.indexrelid = c.oid and i.indisvalid
        join pg_class t on t.oid = i.indrelid
        where n.nspname = $1
        """

    static let primaryKeys = """
        select t.relname, string_agg(a.attname, ', ' order by k.place)
        from pg_constraint c join pg_class t on t.oid = c.conrelid
        join pg_namespace n on n.oid = t.relnamespace
        cross join unnest(c.conkey) with ordinality as k(number, place)
        join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number
        where n.nspname = $1 and c.contype = 'p' group by t.relname
        """

    /// Tables, sequences and the schema with rights for others than their owner, and what belongs
    /// to somebody else. A function of theirs here may be run by the owner.
    static let strangers = """
        with here as (
          select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = $1 and c.relkind in ('r', 'v', 'm', 'S')
        ), granted as (
          select c.oid, c.relname, c.relkind, c.relowner, a.grantee, a.privilege_type
          from here c, aclexplode(coalesce(c.relacl, acldefault(
            case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) a
          union
          select c.oid, c.relname, c.relkind, c.relowner, a.grantee, a.privilege_type
          from here c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
        )
        select format('%s may %s %s %I', case grantee when 0 then 'everybody'
            else grantee::regrole::text end, lower(privilege_type),
            case relkind when 'S' then 'sequence' else 'table' end, relname)
        from granted where grantee <> relowner
        union all
        select format('table %I belongs to %s, not to the owner of the schema', c.relname,
            c.relowner::regrole)
        from here c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and c.relowner <> n.nspowner
        union all
        select format('%s may create in schema %I', case grantee when 0 then 'everybody'
            else grantee::regrole::text end, nspname)
        from pg_namespace n, aclexplode(n.nspacl) a
        where nspname = $1 and grantee <> nspowner and privilege_type = 'CREATE'
        """

    /// The rights that a role is missing.
    static let rights = """
        select case when r.oid is null then format('role %s', $2::text)
          else format('right of %s to execute %s', $2::text, called) end
        from unnest($3::text[]) called
        left join pg_roles r on r.rolname = $2
        where r.oid is null and called = ($3::text[])[1] or r.oid is not null and not exists (
          select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspname = $1 and p.proname = called
            and has_schema_privilege(r.oid, n.oid, 'usage')
            and has_function_privilege(r.oid, p.oid, 'execute'))
        """

    /// Settings of a server or a database that are dangerous for a log.
    static let dangers = """
        select 'dangerous: the encoding is ' || current_setting('server_encoding')
            || ' (accepted: UTF8)'
          where current_setting('server_encoding') <> 'UTF8'
        union all
        select 'dangerous: synchronous_commit is ' || current_setting('synchronous_commit')
            || ': what was acknowledged may be lost in a crash (accepted: on, remote_apply, '
            || 'remote_write, and local where there is no synchronous standby)'
          where current_setting('synchronous_commit') = 'off'
            or current_setting('synchronous_commit') = 'local'
              and current_setting('synchronous_standby_names') <> ''
        union all
        select format('dangerous: synchronous_commit is set to %s for %s', split_part(c, '=', 2),
            coalesce('role ' || nullif(s.setrole, 0)::regrole, 'the database'))
          from pg_db_role_setting s, unnest(s.setconfig) c
          where s.setdatabase in (
              0, (select oid from pg_database where datname = current_database()))
            and c in ('synchronous_commit=off', 'synchronous_commit=local')
        union all
        select 'dangerous: ' || name || ' is off: a crash of the machine may destroy the log'
          from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off'
        union all
        select format('dangerous: the notification queue is %s %% full: a process listens and '
            'does not read (pg_stat_activity shows the oldest transactions of those that listen)',
            round(100 * pg_notification_queue_usage()))
          where pg_notification_queue_usage() >= 0.5
        union all
        select 'dangerous: this server is in recovery: it is a standby, and takes no writes'
          where pg_is_in_recovery()
        """
}
