#!/usr/bin/env escript
%% -*- erlang -*-
%%! +sbwt none +sbwtdcpu none +sbwtdio none +P 1000000
%% Erlang: processes and messages by hand, each tool call a monitored process.
%% It is run and prints as the programs beside it. Its schedulers do not spin while
%% they wait, so that the time of the CPU is that of the work.
-mode(compile).

-define(QUESTION, <<"Where is the bug? Look at the tests first, then at the module.">>).
-define(ANSWER, <<"It is in the second line of the module, where the index starts "
                  "at one.">>).
-define(FOUND, <<"found">>).
-define(TOKENS, 100).
-define(LATENCY_MS, 100).
-define(FLEET_TURNS, 2).
-define(LONG, 1000).
-define(COARSE, "wall time: too short for its clock of the CPU").

main(["version", _]) ->
    Otp = erlang:system_info(otp_release),
    io:format("{\"version\": \"Erlang/OTP ~s\"}~n", [Otp]);
main([Row, Count]) ->
    try
        row(Row, 1),
        row(Row, list_to_integer(Count))
    of
        {Units, {Wall, Cpu, Bytes, Note}} ->
            io:format(
                "{\"count\": ~b, \"seconds\": ~.9f, \"cpu_s\": ~.9f, \"bytes\": ~b, "
                "\"note\": \"~s\"}~n",
                [Units, Wall, Cpu, Bytes, Note])
    catch
        throw:{absent, Why} -> io:format("{\"absent\": \"~s\"}~n", [Why])
    end.

%% The watch: wall time, time of the CPU of all threads, growth of the resident set.
%% The clock of the CPU counts milliseconds; what takes few of them is told by the wall.

watch(Work) ->
    Begin = start(),
    Work(),
    stop(Begin).

start() ->
    {Cpu, _} = erlang:statistics(runtime),
    {resident(), Cpu, erlang:monotonic_time(nanosecond)}.

stop({Bytes, Cpu, Wall}) ->
    Took = (erlang:monotonic_time(nanosecond) - Wall) / 1.0e9,
    case erlang:statistics(runtime) of
        {Now, _} when Now - Cpu < 20 -> {Took, Took, resident() - Bytes, ?COARSE};
        {Now, _} -> {Took, (Now - Cpu) / 1000, resident() - Bytes, ""}
    end.

resident() ->
    {ok, File} = file:open("/proc/self/statm", [read, raw]),
    {ok, Text} = file:read(File, 200),
    file:close(File),
    [_, Pages | _] = string:lexemes(Text, " "),
    list_to_integer(Pages) * 4096.

repeat(0, _) -> ok;
repeat(Count, Work) -> Work(), repeat(Count - 1, Work).

%% The rows.

row("ask", Count) -> {Count, ask(fun echo/0, Count)};
row("record", Count) -> {Count, ask(fun() -> record([]) end, Count)};
row("spawn", Count) ->
    {Count, watch(fun() -> repeat(Count, fun spawned/0) end)};
row("idle", Count) ->
    {Count, watch(fun() ->
        Kept = [spawn(fun() -> record([]) end) || _ <- lists:seq(1, Count)],
        [call(Pid, ?QUESTION) || Pid <- Kept]
    end)};
row("turns_" ++ _, Count) ->
    Replies = script(Count, 1),
    {Count, watch(fun() -> converse(Replies, fun look/1, 0) end)};
row("fleet", Count) ->
    Replies = script(?FLEET_TURNS, 1),
    {Count, watch(fun() ->
        One = fun(_) -> converse(Replies, fun look/1, ?LATENCY_MS) end,
        all([{Number, One} || Number <- lists:seq(1, Count)])
    end)};
row("fan_out", Count) -> {Count, watch(fun() -> below([Count]) end)};
row("tree", Count) ->
    Agents = Count + Count * Count + Count * Count * Count,
    {Agents, watch(fun() -> below([Count, Count, Count]) end)};
row("cancel", Count) -> {Count, cancel(Count)};
row("snapshot", Count) ->
    Pid = spawn(fun() -> record(long()) end),
    {Count, watch(fun() -> repeat(Count, fun() -> call(Pid, snapshot) end) end)};
row("fork", Count) ->
    Pid = spawn(fun() -> record(long()) end),
    {Count, watch(fun() -> repeat(Count, fun() -> call(Pid, fork) end) end)};
row("restore", Count) ->
    Pid = spawn(fun() -> record([]) end),
    Before = long(),
    Work = fun() -> call(Pid, {restore, Before}) end,
    {Count, watch(fun() -> repeat(Count, Work) end)};
row("encode", Count) ->
    Messages = messages(Count),
    {Count, watch(fun() -> [term_to_binary(M) || M <- Messages] end)};
row("decode", Count) ->
    Bodies = [term_to_binary(M) || M <- messages(Count)],
    {Count, watch(fun() -> [binary_to_term(B) || B <- Bodies] end)};
row("durable", _) -> throw({absent, "it comes with no SQLite"});
row(_, _) -> throw({absent, ""}).

%% Actors.

call(Pid, Message) ->
    Ref = make_ref(),
    Pid ! {self(), Ref, Message},
    receive {Ref, Reply} -> Reply end.

ask(Actor, Count) ->
    Pid = spawn(Actor),
    watch(fun() -> repeat(Count, fun() -> call(Pid, ?QUESTION) end) end).

echo() ->
    receive {From, Ref, Message} -> From ! {Ref, Message}, echo() end.

record(Messages) ->
    receive
        {From, Ref, snapshot} -> From ! {Ref, Messages}, record(Messages);
        {From, Ref, fork} ->
            From ! {Ref, spawn(fun() -> record(Messages) end)},
            record(Messages);
        {From, Ref, {restore, Before}} -> From ! {Ref, ok}, record(Before);
        {From, Ref, Message} ->
            From ! {Ref, ok},
            record([#{role => user, content => Message} | Messages])
    end.

spawned() ->
    {Pid, Monitor} = spawn_monitor(fun() -> receive stop -> ok end end),
    Pid ! stop,
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

cancel(Count) ->
    One = fun() -> receive never -> ok end end,
    Waiting = [spawn_monitor(One) || _ <- lists:seq(1, Count)],
    watch(fun() ->
        [exit(Pid, kill) || {Pid, _} <- Waiting],
        [receive {'DOWN', Monitor, process, _, _} -> ok end || {_, Monitor} <- Waiting]
    end).

%% Conversations.

script(Turns, Calls) ->
    [said(Turn, Calls) || Turn <- lists:seq(1, Turns)] ++ [last()].

said(Turn, Calls) ->
    Asked = [#{id => {Turn, N}, args => #{key => <<"bug">>}}
             || N <- lists:seq(1, Calls)],
    #{role => assistant, content => <<>>, calls => Asked, tokens => ?TOKENS}.

last() -> #{role => assistant, content => ?ANSWER, calls => [], tokens => ?TOKENS}.

look(_) -> {?FOUND, 0}.

below([]) -> converse(script(0, 0), fun look/1, 0);
below([Here | Rest]) ->
    converse(script(1, Here), fun(_) -> below(Rest) end, 0).

converse(Replies, Tool, Latency) ->
    Model = spawn(fun() -> model(Replies, Latency) end),
    converse(Model, Tool, [#{role => user, content => ?QUESTION}], 0).

converse(Model, Tool, Messages, Tokens) ->
    Reply = call(Model, think),
    #{calls := Calls, tokens := Used} = Reply,
    case Calls of
        [] -> {maps:get(content, Reply), Tokens + Used};
        _ ->
            Results = all([{Call, Tool} || Call <- Calls]),
            More = [#{role => tool, id => Id, content => Text}
                    || {#{id := Id}, {Text, _}} <- lists:zip(Calls, Results)],
            Below = lists:sum([Count || {_, Count} <- Results]),
            Said = lists:reverse(More, [Reply | Messages]),
            converse(Model, Tool, Said, Tokens + Used + Below)
    end.

model([], _) -> ok;
model([Reply | Replies], Latency) ->
    receive {From, Ref, think} ->
        wait(Latency),
        From ! {Ref, Reply},
        model(Replies, Latency)
    end.

wait(0) -> ok;
wait(Milliseconds) -> timer:sleep(Milliseconds).

%% Each in a process of its own; what they give, in order.
all(Calls) ->
    Running = [spawn_monitor(fun() -> exit({done, Work(Call)}) end)
               || {Call, Work} <- Calls],
    [receive {'DOWN', Monitor, process, _, {done, Result}} -> Result end
     || {_, Monitor} <- Running].

%% Copied, and written.

long() ->
    [#{role => user, content => ?QUESTION, number => N} || N <- lists:seq(1, ?LONG)].

messages(Count) ->
    #{calls := [#{id := Id}]} = Reply = said(1, 1),
    Turn = [#{role => user, content => ?QUESTION}, Reply,
            #{role => tool, id => Id, content => ?FOUND}, last()],
    lists:sublist(lists:append(lists:duplicate(Count div 4 + 1, Turn)), Count).
