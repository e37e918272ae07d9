#include "scripts.h"

#include <string.h>

/* Every file of lua/ and sql/; a test compares the list with the folders. */
static const struct {
    const char *name;
    const char *text;
} files[] = {
    {"lua/addressing.lua", (const char[]) {
#embed "lua/addressing.lua" suffix(, 0)
    }},
    {"lua/adopt.lua", (const char[]) {
#embed "lua/adopt.lua" suffix(, 0)
    }},
    {"lua/append.lua", (const char[]) {
#embed "lua/append.lua" suffix(, 0)
    }},
    {"lua/arguments.lua", (const char[]) {
#embed "lua/arguments.lua" suffix(, 0)
    }},
    {"lua/attempt.lua", (const char[]) {
#embed "lua/attempt.lua" suffix(, 0)
    }},
    {"lua/changes.lua", (const char[]) {
#embed "lua/changes.lua" suffix(, 0)
    }},
    {"lua/claim.lua", (const char[]) {
#embed "lua/claim.lua" suffix(, 0)
    }},
    {"lua/depart.lua", (const char[]) {
#embed "lua/depart.lua" suffix(, 0)
    }},
    {"lua/departures.lua", (const char[]) {
#embed "lua/departures.lua" suffix(, 0)
    }},
    {"lua/disconnect.lua", (const char[]) {
#embed "lua/disconnect.lua" suffix(, 0)
    }},
    {"lua/disconnects.lua", (const char[]) {
#embed "lua/disconnects.lua" suffix(, 0)
    }},
    {"lua/dropping.lua", (const char[]) {
#embed "lua/dropping.lua" suffix(, 0)
    }},
    {"lua/enter.lua", (const char[]) {
#embed "lua/enter.lua" suffix(, 0)
    }},
    {"lua/expiring.lua", (const char[]) {
#embed "lua/expiring.lua" suffix(, 0)
    }},
    {"lua/forget.lua", (const char[]) {
#embed "lua/forget.lua" suffix(, 0)
    }},
    {"lua/forkEpoch.lua", (const char[]) {
#embed "lua/forkEpoch.lua" suffix(, 0)
    }},
    {"lua/guarding.lua", (const char[]) {
#embed "lua/guarding.lua" suffix(, 0)
    }},
    {"lua/head.lua", (const char[]) {
#embed "lua/head.lua" suffix(, 0)
    }},
    {"lua/judging.lua", (const char[]) {
#embed "lua/judging.lua" suffix(, 0)
    }},
    {"lua/kinds.lua", (const char[]) {
#embed "lua/kinds.lua" suffix(, 0)
    }},
    {"lua/listed.lua", (const char[]) {
#embed "lua/listed.lua" suffix(, 0)
    }},
    {"lua/log.lua", (const char[]) {
#embed "lua/log.lua" suffix(, 0)
    }},
    {"lua/look.lua", (const char[]) {
#embed "lua/look.lua" suffix(, 0)
    }},
    {"lua/mentions.lua", (const char[]) {
#embed "lua/mentions.lua" suffix(, 0)
    }},
    {"lua/message.lua", (const char[]) {
#embed "lua/message.lua" suffix(, 0)
    }},
    {"lua/own.lua", (const char[]) {
#embed "lua/own.lua" suffix(, 0)
    }},
    {"lua/page.lua", (const char[]) {
#embed "lua/page.lua" suffix(, 0)
    }},
    {"lua/people.lua", (const char[]) {
#embed "lua/people.lua" suffix(, 0)
    }},
    {"lua/permitted.lua", (const char[]) {
#embed "lua/permitted.lua" suffix(, 0)
    }},
    {"lua/presence.lua", (const char[]) {
#embed "lua/presence.lua" suffix(, 0)
    }},
    {"lua/proving.lua", (const char[]) {
#embed "lua/proving.lua" suffix(, 0)
    }},
    {"lua/publishing.lua", (const char[]) {
#embed "lua/publishing.lua" suffix(, 0)
    }},
    {"lua/reacting.lua", (const char[]) {
#embed "lua/reacting.lua" suffix(, 0)
    }},
    {"lua/reactions.lua", (const char[]) {
#embed "lua/reactions.lua" suffix(, 0)
    }},
    {"lua/reactors.lua", (const char[]) {
#embed "lua/reactors.lua" suffix(, 0)
    }},
    {"lua/read.lua", (const char[]) {
#embed "lua/read.lua" suffix(, 0)
    }},
    {"lua/reading.lua", (const char[]) {
#embed "lua/reading.lua" suffix(, 0)
    }},
    {"lua/record.lua", (const char[]) {
#embed "lua/record.lua" suffix(, 0)
    }},
    {"lua/relist.lua", (const char[]) {
#embed "lua/relist.lua" suffix(, 0)
    }},
    {"lua/remove.lua", (const char[]) {
#embed "lua/remove.lua" suffix(, 0)
    }},
    {"lua/repair.lua", (const char[]) {
#embed "lua/repair.lua" suffix(, 0)
    }},
    {"lua/replace.lua", (const char[]) {
#embed "lua/replace.lua" suffix(, 0)
    }},
    {"lua/retyping.lua", (const char[]) {
#embed "lua/retyping.lua" suffix(, 0)
    }},
    {"lua/roster.lua", (const char[]) {
#embed "lua/roster.lua" suffix(, 0)
    }},
    {"lua/seek.lua", (const char[]) {
#embed "lua/seek.lua" suffix(, 0)
    }},
    {"lua/showing.lua", (const char[]) {
#embed "lua/showing.lua" suffix(, 0)
    }},
    {"lua/tagging.lua", (const char[]) {
#embed "lua/tagging.lua" suffix(, 0)
    }},
    {"lua/trimming.lua", (const char[]) {
#embed "lua/trimming.lua" suffix(, 0)
    }},
    {"lua/typing.lua", (const char[]) {
#embed "lua/typing.lua" suffix(, 0)
    }},
    {"lua/view.lua", (const char[]) {
#embed "lua/view.lua" suffix(, 0)
    }},
    {"lua/vouch.lua", (const char[]) {
#embed "lua/vouch.lua" suffix(, 0)
    }},
    {"lua/whole.lua", (const char[]) {
#embed "lua/whole.lua" suffix(, 0)
    }},
    {"lua/writing.lua", (const char[]) {
#embed "lua/writing.lua" suffix(, 0)
    }},
    {"sql/application_messages.sql", (const char[]) {
#embed "sql/application_messages.sql" suffix(, 0)
    }},
    {"sql/application_records.sql", (const char[]) {
#embed "sql/application_records.sql" suffix(, 0)
    }},
    {"sql/closing.sql", (const char[]) {
#embed "sql/closing.sql" suffix(, 0)
    }},
    {"sql/gateway_lists.sql", (const char[]) {
#embed "sql/gateway_lists.sql" suffix(, 0)
    }},
    {"sql/gateway_presence.sql", (const char[]) {
#embed "sql/gateway_presence.sql" suffix(, 0)
    }},
    {"sql/gateway_reads.sql", (const char[]) {
#embed "sql/gateway_reads.sql" suffix(, 0)
    }},
    {"sql/gateway_signals.sql", (const char[]) {
#embed "sql/gateway_signals.sql" suffix(, 0)
    }},
    {"sql/gateway_trimming.sql", (const char[]) {
#embed "sql/gateway_trimming.sql" suffix(, 0)
    }},
    {"sql/gateway_writes.sql", (const char[]) {
#embed "sql/gateway_writes.sql" suffix(, 0)
    }},
    {"sql/installing.sql", (const char[]) {
#embed "sql/installing.sql" suffix(, 0)
    }},
    {"sql/locking.sql", (const char[]) {
#embed "sql/locking.sql" suffix(, 0)
    }},
    {"sql/message_writes.sql", (const char[]) {
#embed "sql/message_writes.sql" suffix(, 0)
    }},
    {"sql/objects.sql", (const char[]) {
#embed "sql/objects.sql" suffix(, 0)
    }},
    {"sql/opening.sql", (const char[]) {
#embed "sql/opening.sql" suffix(, 0)
    }},
    {"sql/pages.sql", (const char[]) {
#embed "sql/pages.sql" suffix(, 0)
    }},
    {"sql/record_writes.sql", (const char[]) {
#embed "sql/record_writes.sql" suffix(, 0)
    }},
    {"sql/tables.sql", (const char[]) {
#embed "sql/tables.sql" suffix(, 0)
    }},
    {"sql/values.sql", (const char[]) {
#embed "sql/values.sql" suffix(, 0)
    }},
};

const char *embedded_text(const char *name) {
    for (size_t at = 0; at < sizeof files / sizeof files[0]; at++) {
        if (strcmp(files[at].name, name) == 0) return files[at].text;
    }
    return NULL;
}
