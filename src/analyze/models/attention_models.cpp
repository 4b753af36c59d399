// Attention: two products per pair of a query and a key that the mask leaves, 2 x heads x (head size + value
// size) operations each; backwards five products. A causal mask over Nq queries that end with the Nk keys
// leaves Nq(2Nk - Nq)/2 pairs. Lengths of sequences inside a batch are values, which no source records; where
// the sizes prove that all sequences are full, the model holds, else it is absent.
#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

constexpr char kAttention[] = "attention";
constexpr char kNoLengths[] = "the lengths of the sequences are not in the source";

enum class Mask { kUnknown, kNone, kCausal };

struct Sizes {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
};

Count masked_pairs_twice(const Sizes& sizes, Mask mask) {
  const Count queries = sizes.queries;
  const Count keys = sizes.keys;
  return mask == Mask::kCausal ? queries * (Count(2) * keys - queries) : Count(2) * queries * keys;
}

Count forward_work(const Sizes& sizes, Mask mask) {
  const Count width = Count(sizes.head_size) + sizes.value_size;
  return masked_pairs_twice(sizes, mask) * sizes.batch * sizes.heads * width;
}

/// Scores again, then the gradients of values, scores, queries and keys.
Count backward_work(const Sizes& sizes, Mask mask) {
  const Count width = Count(3) * sizes.head_size + Count(2) * sizes.value_size;
  return masked_pairs_twice(sizes, mask) * sizes.batch * sizes.heads * width;
}

Mask mask_of(std::optional<bool> is_causal) {
  if (!is_causal) return Mask::kUnknown;
  return *is_causal ? Mask::kCausal : Mask::kNone;
}

/// [batch, heads, length, size] or, with heads behind, [batch, length, heads, size].
Known<Sizes> dense_sizes(const Tensor* q, const Tensor* k, const Tensor* v, bool heads_behind) {
  if (q == nullptr || k == nullptr || v == nullptr) return Absent{"queries, keys or values have no shape"};
  if (q->rank() != 4 || k->rank() != 4 || v->rank() != 4) return Absent{kNoLengths};
  const size_t head = heads_behind ? 2 : 1;
  const size_t length = heads_behind ? 1 : 2;
  const Sizes sizes{q->dim(0), q->dim(head), q->dim(length), k->dim(length), q->dim(3), v->dim(3)};
  const bool grouped = k->dim(head) > 0 && sizes.heads % k->dim(head) == 0;  // several queries share a key
  const bool fits = k->dim(0) == sizes.batch && v->dim(0) == sizes.batch && k->dim(3) == sizes.head_size &&
                    v->dim(length) == sizes.keys && grouped;
  if (!fits) return Absent{"the shapes do not fit an attention"};
  return sizes;
}

/// With unequal lengths libraries align a causal mask to the first or to the last key.
Known<Mask> usable_mask(Mask mask, const Sizes& sizes) {
  if (mask == Mask::kUnknown) return Absent{"whether the mask is causal is not in the source"};
  if (mask == Mask::kCausal && sizes.queries != sizes.keys) {
    return Absent{"how a causal mask covers unequal lengths is not in the source"};
  }
  return mask;
}

Known<OpModel> dense_forward(const OpCall& call, bool heads_behind, Mask mask, int bias) {
  const Tensor* q = call.tensor(0);
  const auto sizes = dense_sizes(q, call.tensor(1), call.tensor(2), heads_behind);
  if (!sizes) return Absent{sizes.reason()};
  const auto usable = usable_mask(mask, *sizes);
  if (!usable) return Absent{usable.reason()};
  const Count out = Count(sizes->batch) * sizes->heads * sizes->queries * sizes->value_size;
  Tally tally;
  tally.moves(q).moves(call.tensor(1)).moves(call.tensor(2)).moves(call.tensor(bias)).moves(out, q->dtype);
  return tally.result(forward_work(*sizes, *usable), q->dtype, kAttention);
}

/// grad_output, query, key, value and output come first in all of them.
Known<OpModel> dense_backward(const OpCall& call, bool heads_behind, Mask mask, int bias) {
  const Tensor* q = call.tensor(1);
  const auto sizes = dense_sizes(q, call.tensor(2), call.tensor(3), heads_behind);
  if (!sizes) return Absent{sizes.reason()};
  const auto usable = usable_mask(mask, *sizes);
  if (!usable) return Absent{usable.reason()};
  Tally tally;
  tally.moves(call.tensor(bias)).moves(call.tensor(0)).moves(call.tensor(0));  // output is like its gradient
  for (int i = 1; i <= 3; i++) tally.moves(call.tensor(i)).moves(call.tensor(i));
  return tally.result(backward_work(*sizes, *usable), q->dtype, kAttention);
}

struct PackedPlaces {
  int query_starts;
  int key_starts;
  int max_queries;
  int max_keys;
  bool keys_in_pages = false;  ///< the key tensor is the whole cache
};

/// The sum of lengths is at most batch x longest, and equal only if all are full. Keys include the queries,
/// so when the longest of both are equal, full queries make full keys.
bool all_full(const Tensor& q, const Tensor& k, const Sizes& sizes, bool keys_in_pages) {
  const Count tokens = Count(sizes.batch) * sizes.queries;
  if (!tokens.fits || tokens.value != q.dim(0)) return false;
  if (keys_in_pages) return sizes.queries == sizes.keys;
  const Count key_tokens = Count(sizes.batch) * sizes.keys;
  return key_tokens.fits && key_tokens.value == k.dim(0);
}

Known<Sizes> packed_sizes(const OpCall& call, const PackedPlaces& at) {
  const Tensor* q = call.tensor(0);
  const Tensor* k = call.tensor(1);
  const Tensor* v = call.tensor(2);
  const Tensor* starts = call.tensor(at.query_starts);
  const auto queries = call.number(at.max_queries);
  const auto keys = call.number(at.max_keys);
  if (q == nullptr || k == nullptr || v == nullptr || starts == nullptr) return Absent{kNoLengths};
  if (q->rank() != 3 || k->rank() < 3 || v->rank() < 3 || starts->rank() != 1 || starts->dim(0) < 2) {
    return Absent{kNoLengths};
  }
  if (!queries || !keys || *queries < 1 || *keys < 1) return Absent{kNoLengths};
  const Sizes sizes{starts->dim(0) - 1, q->dim(1), *queries, *keys, q->dim(2), v->last()};
  if (!all_full(*q, *k, sizes, at.keys_in_pages)) return Absent{kNoLengths};
  return sizes;
}

Known<OpModel> packed_forward(const OpCall& call, const PackedPlaces& at, Mask mask) {
  const auto sizes = packed_sizes(call, at);
  if (!sizes) return Absent{sizes.reason()};
  const auto usable = usable_mask(mask, *sizes);
  if (!usable) return Absent{usable.reason()};
  const Tensor& q = *call.tensor(0);
  const Tensor& k = *call.tensor(1);
  const Tensor& v = *call.tensor(2);
  const Count tokens = Count(sizes->batch) * sizes->keys;
  Tally tally;
  tally.moves(&q).moves(Count(q.dim(0)) * q.dim(1) * v.last(), q.dtype);
  tally.moves(tokens * k.last(1) * k.last(), k.dtype).moves(tokens * v.last(1) * v.last(), v.dtype);
  return tally.result(forward_work(*sizes, *usable), q.dtype, kAttention);
}

/// A window hides keys that this model would count.
bool has_window(const OpCall& call, int left, int right) {
  const auto is_open = [&](int at) { return call.text(at).empty() || call.number(at) == -1; };
  return !is_open(left) || !is_open(right);
}

constexpr char kWindow[] = "no model for attention with a window";

// q, k, v, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, scale, window l, r
Known<OpModel> flash_forward(const OpCall& call) {
  const Mask mask = mask_of(call.flag(8));
  if (has_window(call, 11, 12)) return Absent{kWindow};
  if (call.tensor(3) != nullptr) return packed_forward(call, {3, 4, 5, 6}, mask);
  return dense_forward(call, true, mask, -1);
}

// grad_out, q, k, v, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal
Known<OpModel> flash_backward(const OpCall& call) {
  if (call.tensor(6) != nullptr && call.tensor(6)->rank() == 1) return Absent{kNoLengths};
  return dense_backward(call, true, mask_of(call.flag(11)), -1);
}

// q, k, v, bias, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, custom_mask_type
Known<OpModel> efficient_forward(const OpCall& call) {
  const auto type = call.number(9);
  const Mask mask = !type ? Mask::kUnknown : *type == 0 ? Mask::kNone : Mask::kCausal;
  if (call.tensor(4) != nullptr) return packed_forward(call, {4, 5, 6, 7}, mask);
  return dense_forward(call, true, mask, 3);
}

Known<OpModel> sdpa(const OpCall& call) {  // q, k, v, attn_mask, dropout_p, is_causal
  return dense_forward(call, false, mask_of(call.flag(5)), 3);
}
Known<OpModel> sdpa_flash(const OpCall& call) {  // q, k, v, dropout_p, is_causal
  return dense_forward(call, false, mask_of(call.flag(4)), -1);
}
Known<OpModel> sdpa_biased(
    const OpCall& call) {  // q, k, v, attn_bias, compute_log_sumexp, dropout_p, is_causal
  return dense_forward(call, false, mask_of(call.flag(6)), 3);
}
// grad_out, q, k, v, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal
Known<OpModel> sdpa_flash_backward(const OpCall& call) {
  return dense_backward(call, false, mask_of(call.flag(11)), -1);
}
// grad_out, q, k, v, attn_bias, out, logsumexp, seed, offset, dropout_p, grad_input_mask, is_causal
Known<OpModel> sdpa_efficient_backward(const OpCall& call) {
  return dense_backward(call, false, mask_of(call.flag(11)), 4);
}

// grad_out, q, k, v, out, logsumexp, dropout_p, is_causal
Known<OpModel> sdpa_cpu_backward(const OpCall& call) {
  return dense_backward(call, false, mask_of(call.flag(7)), -1);
}
// grad_out, q, k, v, out, logsumexp, seed, offset, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
// is_causal
Known<OpModel> sdpa_cudnn_backward(const OpCall& call) {
  return dense_backward(call, false, mask_of(call.flag(14)), 8);
}
// q, k, v, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, compute_log_sumexp, dropout_p, is_causal
Known<OpModel> cudnn_forward(const OpCall& call) {
  if (call.tensor(4) != nullptr) return Absent{kNoLengths};
  return dense_forward(call, false, mask_of(call.flag(10)), 3);
}

// q, k, v, dropout_p, softmax_scale, causal, window l, window r
Known<OpModel> flash_attn(const OpCall& call) {
  if (has_window(call, 6, 7)) return Absent{kWindow};
  return dense_forward(call, true, mask_of(call.flag(5)), -1);
}
// q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, softmax_scale, causal, window l, window r
Known<OpModel> flash_attn_varlen(const OpCall& call) {
  if (has_window(call, 10, 11)) return Absent{kWindow};
  return packed_forward(call, {3, 4, 5, 6}, mask_of(call.flag(9)));
}
// q, k, v, cu_seqlens_q, kv_indptr, kv_page_indices, max_q, max_k, dropout_p, scale, soft cap, zero, causal,
// l, r
Known<OpModel> aiter_batch_prefill(const OpCall& call) {
  if (has_window(call, 13, 14)) return Absent{kWindow};
  return packed_forward(call, {3, 4, 6, 7, true}, mask_of(call.flag(12)));
}
// q, k, v, out, cu_seqlens_q, cu_seqlens_k, seqused_k, leftpad_k, block_table, alibi, max_q, max_k,
// p_dropout, scale, zero_tensors, is_causal, window l, window r
Known<OpModel> vllm_varlen(const OpCall& call) {
  if (has_window(call, 16, 17)) return Absent{kWindow};
  const bool in_pages = call.tensor(8) != nullptr;
  return packed_forward(call, {4, 5, 10, 11, in_pages}, mask_of(call.flag(15)));
}
Known<OpModel> without_lengths(const OpCall&) {
  return Absent{kNoLengths};
}

constexpr NamedModel kAttentionModels[] = {
    {"aten::_flash_attention_forward", flash_forward},
    {"aten::_flash_attention_backward", flash_backward},
    {"aten::_efficient_attention_forward", efficient_forward},
    {"aten::scaled_dot_product_attention", sdpa},
    {"aten::_scaled_dot_product_attention_math", sdpa},
    {"aten::_scaled_dot_product_flash_attention", sdpa_flash},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", sdpa_flash},
    {"aten::_scaled_dot_product_efficient_attention", sdpa_biased},
    {"aten::_scaled_dot_product_cudnn_attention", sdpa_biased},
    {"aten::_scaled_dot_product_flash_attention_backward", sdpa_flash_backward},
    {"aten::_scaled_dot_product_efficient_attention_backward", sdpa_efficient_backward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", sdpa_cpu_backward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", sdpa_cudnn_backward},
    {"aten::_cudnn_attention_forward", cudnn_forward},
    {"flash_attn::_flash_attn_forward", flash_attn},
    {"flash_attn::_flash_attn_varlen_forward", flash_attn_varlen},
    {"aiter::mha_batch_prefill", aiter_batch_prefill},
    {"_vllm_fa2_C::varlen_fwd", vllm_varlen},
    {"vllm::unified_attention", without_lengths},
    {"vllm::unified_attention_with_output", without_lengths},
};

}  // namespace

std::span<const NamedModel> attention_models() {
  return kAttentionModels;
}

}  // namespace nl::analyze
