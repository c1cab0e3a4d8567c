// SPDX-License-Identifier: Apache-2.0
// Attention as ONNX Runtime composes it: operands are brought into the form of the standard's Attention, and masks of
// several forms become what it adds to the scores. A masked key is one with `mask_filter_value` (-10000), so a row
// without any key is no row of zeros.

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/composition.h"

namespace isamap::importing {
namespace {

/// What the standard's Attention reads.
struct Attended {
  std::int64_t heads = 0, groups = 0;
  bool flat = true;  ///< [batch, token, head*size], else [batch, head, token, size]
  std::string q, k, v, past_key, past_value, bias;
  std::string lengths;      ///< of the keys of each batch
  std::int64_t keys = 0;    ///< of a batch, past ones included
  bool last_query = false;  ///< it is the only one, behind all keys
};

std::int64_t heads_of(const Composition& c, const char* name = "num_heads") {
  const std::int64_t heads = c.integer(name, 0);
  if (heads < 1) throw contradiction(fmt::format("{} is {}", name, heads));
  return heads;
}

void refuse_input(const Composition& c, std::size_t i, const char* what, const char* help) {
  if (c.has(i)) throw Refused{fmt::format("input {}: {}", i, what), help};
}

constexpr const char* own_buffers = "export the model with past and present of their own";

/// [batch, token, head*size] as [batch, head, token, size].
std::string by_heads(Composition& c, const std::string& value, std::int64_t heads) {
  return c.permuted(c.reshaped(value, {0, 0, heads, -1}), {0, 2, 1, 3});
}

/// How many keys there are, past ones included.
std::string key_count(Composition& c, const Attended& of) {
  const std::string now = c.size_of(of.k, of.flat ? 1 : 2);
  return of.past_key.empty() ? now : c.say("Add", {now, c.size_of(of.past_key, 2)});
}

/// Lengths of a batch's keys (B), or their ends and then their starts (2B): which keys are there, [B,1,1,T].
std::string within(Composition& c, const Attended& of, std::size_t i, std::int64_t batch) {
  const std::int64_t count = c.shape(i)[0];
  const std::string key = c.say("Range", {c.scalar(0), key_count(c, of), c.scalar(1)});
  Attribute wide;
  wide.ints = {7};
  const std::string given = c.say("Cast", {c.input(i)}, {{"to", wide}});
  const auto part = [&](std::int64_t n) {
    return c.reshaped(count == batch ? given : c.slice(given, 0, n * batch, (n + 1) * batch), {-1, 1, 1, 1});
  };
  const std::string is_before = c.say("Less", {key, part(0)});
  if (count == batch) return is_before;
  return c.say("And", {is_before, c.say("GreaterOrEqual", {key, part(1)})});
}

/// Masks and biases have an element for each key.
void check_keys(const Composition& c, const Attended& of, std::size_t i) {
  if (c.shape(i).empty() || c.shape(i).back() != of.keys)
    throw Refused{fmt::format("input {} is {}, and there are {} keys", i, sizes_text(c.shape(i)), of.keys),
                  "one with an element for each key, past ones included"};
}

/// The mask of input i as what is added to scores.
std::string mask_of(Composition& c, const Attended& of, std::size_t i, const std::string& like) {
  const Sizes& mask = c.shape(i);
  const std::int64_t batch = c.shape(0)[0];
  std::string seen;
  if (mask.size() == 1 && (mask[0] == batch || mask[0] == 2 * batch)) {
    seen = within(c, of, i, batch);
  } else if (mask.size() == 2 || mask.size() == 3) {
    check_keys(c, of, i);
    seen = c.say("Greater", {c.unsqueezed(c.input(i), mask.size() == 2 ? Sizes{1, 2} : Sizes{1}),
                             c.cast(c.scalar(0), c.input(i))});
  } else {
    throw Refused{fmt::format("a mask of {} for a batch of {}", sizes_text(mask), batch),
                  "masks are [batch], [2*batch], [batch, keys] or [batch, queries, keys]"};
  }
  return c.say("Where", {seen, c.number(0, like), c.number(c.real("mask_filter_value", -10000), like)});
}

/// Masks and biases, which are added to each other.
void add_bias(Composition& c, Attended& of, const std::string& bias) {
  of.bias = of.bias.empty() ? bias : c.say("Add", {of.bias, bias});
}

/// The node, with `count` results (of presents and scores those that the caller wants): the first has the form
/// [batch, token, head*size].
Names attend(Composition& c, const Attended& of, Attributes own, const std::vector<bool>& wanted) {
  own["scale"] = real_attribute(c.real("scale", 0));
  if (c.real("scale", 0) < 0) throw Refused{"a scale below 0", "a positive one, of negated queries"};
  if (c.real("scale", 0) == 0) own.erase("scale");
  if (of.flat) {
    own["q_num_heads"] = integer_attribute(of.heads);
    own["kv_num_heads"] = integer_attribute(of.groups == 0 ? of.heads : of.groups);
  }
  std::vector<std::string> inputs{of.q, of.k, of.v, of.bias, of.past_key, of.past_value, of.lengths};
  while (inputs.back().empty()) inputs.pop_back();
  const std::string y = c.say("Attention", inputs, std::move(own), 1 + wanted.size());
  Names& outputs = c.function.nodes.back().outputs;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    if (!wanted[k]) outputs[k + 1].clear();
  while (outputs.back().empty()) outputs.pop_back();
  Names made = outputs;
  made.resize(1 + wanted.size());
  if (!of.flat) made[0] = c.reshaped(c.permuted(y, {0, 2, 1, 3}), {0, 0, -1});
  return made;
}

/// Keys behind the query do not count. Where masked ones have the lowest score that there is, keys behind have it too:
/// rows whose other keys are all masked are means of all.
Attributes causal(Composition& c, Attended& of, bool masked) {
  constexpr double lowest = -3.40282346638528859812e38;
  if (!c.flag("unidirectional") || of.last_query) return {};
  if (!masked || c.real("mask_filter_value", -10000) > lowest / 2) return {{"is_causal", integer_attribute(1)}};
  const auto range = [&](const std::string& count) { return c.say("Range", {c.scalar(0), count, c.scalar(1)}); };
  std::string query = c.unsqueezed(range(c.size_of(of.q, of.flat ? 1 : 2)), {1});
  if (!of.past_key.empty()) query = c.say("Add", {query, c.size_of(of.past_key, 2)});
  const std::string is_before = c.say("LessOrEqual", {range(key_count(c, of)), query});
  of.bias = c.say("Where", {is_before, of.bias, c.number(lowest, of.bias)});
  return {};
}

/// Queries, keys and values of MultiHeadAttention, which may be packed, before their biases.
Attended unpacked(Composition& c) {
  Attended of;
  of.heads = heads_of(c);
  const auto part = [&](std::size_t i, std::int64_t n) { return c.reshaped(c.taken(c.input(i), 3, n), {0, 0, -1}); };
  of.q = "x0";
  if (c.shape(0).size() == 5) {
    of.q = part(0, 0), of.k = part(0, 1), of.v = part(0, 2);
  } else if (c.shape(1).size() == 5) {
    of.k = part(1, 0), of.v = part(1, 1);
  } else {
    of.flat = c.shape(1).size() != 4;
    if (c.shape(2).size() != c.shape(1).size()) throw contradiction("keys and values differ in their form");
    of.k = "x1", of.v = "x2";
  }
  return of;
}

/// One bias for queries, keys and values, in this order.
void add_input_bias(Composition& c, Attended& of, std::size_t i) {
  if (!c.has(i)) return;
  if (!of.flat) throw Refused{"a bias of keys with heads of their own", "add it before the node"};
  const Sizes& q = c.shape(0);
  const std::int64_t size = q.size() == 5 ? q[2] * q[4] : q.back(), all = c.shape(i).back();
  of.q = c.say("Add", {of.q, c.slice(c.input(i), 0, 0, size)});
  of.k = c.say("Add", {of.k, c.slice(c.input(i), 0, size, 2 * size)});
  of.v = c.say("Add", {of.v, c.slice(c.input(i), 0, 2 * size, all)});
}

/// query, key, value, bias, mask, what is added to scores, past key, past value.
void multi_head(Composition& c) {
  for (const std::size_t i : {0U, 1U, 2U}) c.needs(i, 3);
  c.needs(3, 1);
  c.needs(6, 4);
  refuse_input(c, 8, "past and present in one buffer", own_buffers);
  refuse_input(c, 9, "beams", "an export without beam search");
  Attended of = unpacked(c);
  add_input_bias(c, of, 3);
  of.past_key = c.optional(6), of.past_value = c.optional(7);
  const std::int64_t keys = c.shape(c.shape(0).size() == 5 ? 0 : 1)[of.flat ? 1 : 2], queries = c.shape(0)[1];
  of.keys = keys + (c.has(6) ? c.shape(6)[2] : 0);
  of.last_query = queries == 1 && keys != 1;
  if (c.flag("unidirectional") && queries != keys && !of.last_query)
    throw Refused{
        fmt::format("unidirectional with {} queries and {} keys, whose places are not told", queries, keys),
        "as many keys as queries, those before them as the past; or a bias of scores that says which are seen"};
  if (c.has(5)) check_keys(c, of, 5), of.bias = "x5";
  if (c.has(4)) add_bias(c, of, mask_of(c, of, 4, "x0"));
  if (!of.flat) of.q = by_heads(c, of.q, of.heads);
  Attributes own = causal(c, of, c.has(4));
  if (c.wants(3)) own["qk_matmul_output_mode"] = integer_attribute(2);
  const Names made = attend(c, of, std::move(own), {c.wants(1), c.wants(2), c.wants(3)});
  for (std::size_t k = 0; k < made.size(); ++k) c.result(k, made[k]);
}

/// One product makes queries, keys and values, of the sizes that `qkv_hidden_sizes` states.
void split_product(Composition& c, Attended& of, const std::string& product, std::int64_t all) {
  Sizes sizes{all / 3, all / 3, all / 3};
  const auto stated = c.node().attributes.find("qkv_hidden_sizes");
  if (stated != c.node().attributes.end() && !stated->second.ints.empty()) sizes = stated->second.ints;
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != all)
    throw contradiction(
        fmt::format("queries, keys and values of {} are not the {} columns of the weights", sizes_text(sizes), all));
  of.q = c.slice(product, 2, 0, sizes[0]);
  of.k = c.slice(product, 2, sizes[0], sizes[0] + sizes[1]);
  of.v = c.slice(product, 2, sizes[0] + sizes[1], all);
}

/// Attention of a product, with inputs of these numbers: mask, past (keys and values in one tensor), bias of scores.
void attend_product(Composition& c, const std::string& product, std::size_t mask, std::size_t past, std::size_t bias) {
  c.needs(0, 3);
  c.needs(1, 2);
  c.needs(past, 5);
  if (c.flag("do_rotary")) throw Refused{"a rotation of its own", "RotaryEmbedding as a node"};
  if (c.flag("past_present_share_buffer")) throw Refused{"past and present in one buffer", own_buffers};
  Attended of;
  of.heads = heads_of(c);
  split_product(c, of, product, c.shape(1).back());
  if (c.has(past)) of.past_key = c.taken(c.input(past), 0, 0), of.past_value = c.taken(c.input(past), 0, 1);
  of.keys = c.shape(0)[1] + (c.has(past) ? c.shape(past)[3] : 0);
  if (c.has(bias)) check_keys(c, of, bias), of.bias = c.input(bias);
  if (c.has(mask)) add_bias(c, of, mask_of(c, of, mask, product));
  const bool wants = c.wants(1);
  Attributes own = causal(c, of, c.has(mask));
  const Names made = attend(c, of, std::move(own), {wants, wants});
  c.result(0, made[0]);
  if (!wants) return;
  const std::string both[] = {c.unsqueezed(made[1], {0}), c.unsqueezed(made[2], {0})};
  c.result(1, c.say("Concat", {both[0], both[1]}, {{"axis", integer_attribute(0)}}));
}

/// input, weights, bias, mask, past, what is added to scores.
void attention(Composition& c) {
  refuse_input(c, 6, "past and present in one buffer", own_buffers);
  attend_product(c, c.plus(c.say("MatMul", {"x0", "x1"}), 2), 3, 4, 5);
}

/// input, weights, bias, both scales, mask, both zero points, past.
void quantised_attention(Composition& c) {
  attend_product(c, scaled_product(c, {"x0", "x1", c.optional(6), c.optional(7)}, "x3", "x4", 2), 5, 8,
                 c.node().inputs.size());
}

/// words, segments, three tables, scale and bias of the norm, mask, positions. The results: the norm of the sum, how
/// many words the mask has, the sum. QEmbedLayerNormalization has no positions; scales and then zero points of the
/// tables, the norm's scale and bias follow.
void embed(Composition& c) {
  const bool of_bytes = c.node().op == "QEmbedLayerNormalization";
  const auto real = [&](const std::string& bytes, std::size_t i) {
    return of_bytes ? c.say("DequantizeLinear", {bytes, c.input(6 + i), c.optional(11 + i)}) : bytes;
  };
  const auto rows = [&](std::size_t table, std::size_t at) {
    return real(c.say("Gather", {c.input(table), c.input(at)}), table);
  };
  std::string position = of_bytes || !c.has(8) ? "" : rows(3, 8);
  if (position.empty())
    position = real(c.say("Slice", {"x3", c.integers({0}), c.unsqueezed(c.size_of("x0", 1), {0}), c.integers({0})}), 3);
  std::string sum = c.say("Add", {rows(2, 0), position});
  if (c.has(1)) sum = c.say("Add", {sum, rows(4, 1)});
  const Attributes epsilon{{"epsilon", real_attribute(c.real("epsilon", 1e-12))}};
  c.result(0, c.say("LayerNormalization", {sum, real("x5", 5), real("x6", 6)}, epsilon));
  c.result(2, sum);
  if (!c.wants(1)) return;
  const std::string mask = c.has(7) ? "x7" : "x0";
  const std::string is_one = c.say("Equal", {mask, c.cast(c.scalar(1), mask)});
  Attribute s32;
  s32.ints = {6};
  const std::string ones = c.say("Cast", {is_one}, {{"to", s32}});
  const std::string counted = c.has(7) ? ones : c.say("Sub", {ones, ones});
  c.result(1, c.say("ReduceSum", {counted, c.integers({1})}, {{"keepdims", integer_attribute(0)}}));
}

/// 0, 1, .. for the tokens of each batch, or what `first` [batch,1] says is the first one's.
std::string positions(Composition& c, const std::string& tokens, std::size_t dim, const std::string& first) {
  const std::string count = c.size_of(tokens, static_cast<std::int64_t>(dim));
  const std::string place = c.say("Range", {c.scalar(0), count, c.scalar(1)});
  if (!first.empty()) return c.say("Add", {place, first});
  const std::string shape[] = {c.unsqueezed(c.size_of(tokens, 0), {0}), c.unsqueezed(count, {0})};
  return c.say("Expand", {place, c.say("Concat", {shape[0], shape[1]}, {{"axis", integer_attribute(0)}})});
}

/// input, positions or the first one's [1], cosines, sines.
void rotary(Composition& c) {
  c.needs(0, 3);
  c.needs(2, 1);
  if (c.flag("is_packed_batching")) throw Refused{"batches that are packed", "an export that pads them"};
  const Sizes& x = c.shape(0);
  const std::int64_t rotated = c.integer("rotary_embedding_dim", 0), half = c.shape(2).back();
  Attributes own{{"interleaved", integer_attribute(c.integer("interleaved", 0))},
                 {"rotary_embedding_dim", integer_attribute(rotated)}};
  if (x.size() == 3)
    own["num_heads"] = integer_attribute(rotated > 0 ? heads_of(c) : x[2] / std::max<std::int64_t>(2 * half, 1));
  std::string at = "x1";
  if (c.shape(1).size() == 1) {
    const std::string all = positions(c, "x0", x.size() == 3 ? 1 : 2, "");
    at = c.say("Add", {all, c.cast("x1", all)});
  }
  c.result(0, c.say("RotaryEmbedding", {"x0", "x2", "x3", at}, own));
}

/// What GroupQueryAttention has beyond this.
void check_grouped(const Composition& c) {
  c.needs(0, 3);
  for (const std::size_t i : {3U, 4U}) c.needs(i, 4);
  c.needs(7, 2);
  c.needs(9, 2);
  for (const std::size_t i : {12U, 13U})
    refuse_input(c, i, "keys and values of the past as integers", "a cache of floats");
  for (const std::size_t i : {14U, 15U}) refuse_input(c, i, "norms of queries and keys", "RMSNormalization as nodes");
  refuse_input(c, 11, "sinks of heads", "an export without them");
  refuse_input(c, 16, "lengths of queries", "queries without padding");
  if (c.flag("smooth_softmax")) throw Refused{"smooth_softmax", "an export without it"};
  if (c.flag("sliding_window_cache")) throw Refused{"a cache of the window's size", "a cache of all keys"};
  if (c.wants(3)) throw Refused{"scores as an output", "an export without them"};
}

/// How many keys there are after this step: input 6, which must be known where there is a past.
std::int64_t total_keys(const Composition& c, std::int64_t queries, std::int64_t past) {
  if (past == 0) return queries;
  const auto& known = c.in(6).values;
  if (!known || known->count() != 1)
    throw Refused{
        "total_sequence_length, its input 6, is not known: it says how many keys there are",
        fmt::format("--fix {}=N; {} where the past of {} keys grows", c.node().inputs[6], past + queries, past)};
  const std::int64_t total = known->get(0).integer;
  if (total < queries) throw contradiction(fmt::format("{} keys in all, {} of them new", total, queries));
  return total;
}

/// The keys (values) of the past, `of` input i, with the new ones from place `first` of each batch.
std::string with_past(Composition& c, std::size_t i, const std::string& now, const std::string& first,
                      std::int64_t total) {
  const std::int64_t past = c.shape(i).at(2);
  std::string buffer = c.input(i);
  if (total > past) buffer = c.say("Pad", {buffer, c.integers({0, 0, 0, 0, 0, 0, total - past, 0})});
  return c.say("TensorScatter", {buffer, now, first}, {{"axis", integer_attribute(2)}});
}

/// Where the tokens of GroupQueryAttention are: behind the keys that each batch has, or input 9, of which the first
/// element alone counts in a first step.
std::string positions_of_tokens(Composition& c, const std::string& first) {
  if (c.has(9) && !first.empty()) return "x9";
  const std::string place = positions(c, "x0", 1, first.empty() ? "" : c.unsqueezed(first, {1}));
  return c.has(9) ? c.say("Add", {place, c.taken(c.taken("x9", 0, 0), 0, 0)}) : place;
}

/// Queries, keys and values as heads, turned by their positions.
Attended grouped_heads(Composition& c, const std::string& first) {
  Attended of;
  of.heads = heads_of(c), of.groups = heads_of(c, "kv_num_heads"), of.flat = false;
  Names parts{"x0", "x1", "x2"};
  if (!c.has(1)) {
    const std::int64_t all = of.heads + 2 * of.groups, size = c.shape(0).back() / all;
    parts = {c.slice("x0", 2, 0, of.heads * size), c.slice("x0", 2, of.heads * size, (of.heads + of.groups) * size),
             c.slice("x0", 2, (of.heads + of.groups) * size, all * size)};
  }
  of.q = by_heads(c, parts[0], of.heads), of.k = by_heads(c, parts[1], of.groups);
  of.v = by_heads(c, parts[2], of.groups);
  if (!c.flag("do_rotary")) return of;
  const std::string at = positions_of_tokens(c, first);
  const Attributes own{{"interleaved", integer_attribute(c.integer("rotary_interleaved", 0))},
                       {"rotary_embedding_dim", integer_attribute(2 * c.shape(7).back())}};
  of.q = c.say("RotaryEmbedding", {of.q, "x7", "x8", at}, own);
  of.k = c.say("RotaryEmbedding", {of.k, "x7", "x8", at}, own);
  return of;
}

/// query, key, value, past key and value, places of the last keys, number of keys, cosines, sines, positions, what is
/// added to scores. A first step has no past: its keys are the new ones. In later steps the new keys of each batch
/// follow those that it has; behind them the buffer is as it was.
void grouped_query(Composition& c) {
  check_grouped(c);
  if (c.has(3) != c.has(4)) throw contradiction("keys or values of the past are missing");
  const std::int64_t queries = c.shape(0).at(1), past = c.has(3) ? c.shape(3).at(2) : 0;
  const std::int64_t total = total_keys(c, queries, past);
  Attribute wide;
  wide.ints = {7};
  const std::string last = c.reshaped(c.say("Cast", {"x5"}, {{"to", wide}}), {-1});
  const std::string lengths = c.say("Add", {last, c.scalar(1)});
  const bool begins = total == queries, looks_ahead = c.integer("causal", 1) == 0;
  const std::string first = begins ? "" : c.say("Sub", {lengths, c.scalar(queries)});
  Attended of = grouped_heads(c, first);
  Names present{of.k, of.v};
  for (std::size_t n = 0; n < 2 && past > 0; ++n) {
    present[n] = with_past(c, 3 + n, n == 0 ? of.k : of.v, begins ? c.say("Sub", {lengths, lengths}) : first, total);
    if (!begins) (n == 0 ? of.k : of.v) = total < past ? c.slice(present[n], 2, 0, total) : present[n];
  }
  if (!begins || looks_ahead) of.lengths = lengths;
  of.bias = c.optional(10);
  Attributes own{{"softcap", real_attribute(c.real("softcap", 0))},
                 {"is_causal", integer_attribute(looks_ahead ? 0 : 1)}};
  if (const std::int64_t window = c.integer("local_window_size", -1); window > 0)
    own["left_window_size"] = integer_attribute(window - 1);  // with the query itself
  c.result(0, attend(c, of, std::move(own), {})[0]);
  c.result(1, present[0]);
  c.result(2, present[1]);
}

}  // namespace

const Compositions& attention_compositions() {
  static const Compositions all = {{"MultiHeadAttention", &multi_head},  {"Attention", &attention},
                                   {"QAttention", &quantised_attention}, {"GroupQueryAttention", &grouped_query},
                                   {"EmbedLayerNormalization", &embed},  {"QEmbedLayerNormalization", &embed},
                                   {"RotaryEmbedding", &rotary}};
  return all;
}

}  // namespace isamap::importing
