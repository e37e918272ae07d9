-- A script that reads, as the function `read`, looks at the types only once a command has failed:
-- nine commands fewer, of some thirty, for each conversation of a list.
local isDone, answer = pcall(read)
if isDone then return answer end
local key = mistyped()
if key then return {'damaged', key} end
error(answer)
