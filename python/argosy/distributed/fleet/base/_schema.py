"""The messages behind DistributedStrategy, as Paddle 3.3's prototxt files have them.

A line without indent names a message; each indented line is a field: name, type (`*` after it:
repeated), default. execution_strategy is of Paddle 2.6, kept for files and programs of then.
"""

SCHEMA = """\
RefinedOpsPattern
  main_ops string*
  num int32 0
  pre_ops string*
  suf_ops string*
RecomputeConfig
  checkpoints string*
  enable_offload bool false
  checkpoint_shape int32*
  enable_tuning bool false
  refined_ops_patterns RefinedOpsPattern*
ShardingConfig
  sharding_segment_strategy string segment_broadcast_MB
  segment_broadcast_MB float 32.0
  segment_anchors string*
  sharding_degree int32 8
  mp_degree int32 1
  dp_degree int32 1
  hybrid_dp bool false
  gradient_merge_acc_step int32 1
  optimize_offload bool false
  pp_allreduce_in_optimize bool false
  pp_degree int32 1
  optimize_cast bool false
  _dp_as_optimizer_sharding bool false
  stage int32 1
  enable_tuning bool false
  use_calc_stream bool false
MpConfig
  sync_param bool true
  sync_grad bool false
  sync_moment bool false
  sync_mode string broadcast
  mp_async_allreduce bool false
  mp_skip_c_identity bool false
  mp_fused_linear_param_grad_add bool false
  need_broadcast_data bool true
  recompute_allgather bool false
  sp_async_reduce_scatter bool false
  nccl_config NCCLConfig
PpConfig
  dp_comm_overlap bool false
  delay_scale_loss bool false
  enable_timer bool false
  sharding_comm_overlap bool false
  profiling bool false
  release_gradients bool false
  overlap_p2p_comm bool false
  clear_every_step_cache bool false
  use_batch_p2p_comm bool true
  best_unbalanced_scheduler bool false
  enable_offload_queue bool false
  enable_dynamic_shape bool false
  use_dualpipev bool false
  forward_backward_overlap_scheduler bool false
  coll_nccl_config NCCLConfig
  p2p_nccl_config NCCLConfig
  shared_nccl_config NCCLConfig
  sync_param bool false
  sync_moment bool false
  sync_mode string broadcast
DygraphShardingConfig
  tensor_fusion bool false
  accumulate_steps int32 1
  comm_overlap bool false
  split_param bool false
  fuse_optimizer bool true
  use_reduce_avg bool true
  comm_buffer_size_MB int32 256
  release_gradients bool false
  free_grads_in_comm bool false
  enable_fuse_optimizer_states bool false
  nccl_config NCCLConfig
  check_nccl_config NCCLConfig
  offload_opt_buffer_size int32 -1
HybridConfig
  dp_degree int32 -1
  mp_degree int32 1
  pp_degree int32 1
  sharding_degree int32 1
  sep_degree int32 1
  mp_configs MpConfig
  pp_configs PpConfig
  sharding_configs DygraphShardingConfig
  enable_optimizer_timer bool false
  split_norm_comm bool false
  ep_degree int32 1
  moe_sharding_degree int32 1
  dp_configs DpConfig
  sep_configs SepConfig
  dp_sep_configs DpSepConfig
  pp_tp_configs PpTpConfig
  ep_configs EpConfig
  moe_sharding_configs MoeShardingConfig
  default_comm_group_configs DefaultCommGroupConfig
  cp_degree int32 1
  cp_sharding_degree int32 1
  cp_configs CpConfig
  cp_sharding_configs CpShardingConfig
  dp_cp_configs DpCpConfig
  cp_mp_configs CpMpConfig
AMPConfig
  init_loss_scaling float 32768.0
  incr_every_n_steps int32 1000
  decr_every_n_nan_or_inf int32 2
  incr_ratio float 2.0
  decr_ratio float 0.8
  use_dynamic_loss_scaling bool true
  custom_white_list string*
  custom_black_list string*
  custom_black_varnames string*
  use_pure_fp16 bool false
  use_fp16_guard bool true
  use_optimizer_fp16 bool false
  use_pure_bf16 bool false
LocalSGDConfig
  k_steps int32 1
  begin_step int32 1
AdaptiveLocalSGDConfig
  init_k_steps int32 1
  begin_step int32 1
GradientMergeConfig
  k_steps int32 1
  avg bool true
DGCConfig
  rampup_begin_step int32 0
  rampup_step int32 1
  sparsity float*
LarsConfig
  lars_coeff float 0.001
  lars_weight_decay float 0.0005
  epsilon float 0.0
  exclude_from_weight_decay string*
LambConfig
  lamb_weight_decay float 0.01
  exclude_from_weight_decay string*
BuildStrategy
  fuse_elewise_add_act_ops bool false
  fuse_bn_act_ops bool false
  fuse_relu_depthwise_conv bool false
  fuse_broadcast_ops bool false
  fuse_all_optimizer_ops bool false
  enable_inplace bool false
  enable_backward_optimizer_op_deps bool true
  cache_runtime_context bool false
  fuse_bn_add_act_ops bool true
  enable_auto_fusion bool false
  enable_addto bool false
  allow_cuda_graph_capture bool false
  reduce_strategy int32 0
  fuse_gemm_epilogue bool false
  debug_graphviz_path string
  fused_attention bool false
  fused_feedforward bool false
  fuse_dot_product_attention bool false
  fuse_resunit bool false
GradientScaleConfig
  scale_strategy string avg
  scale_gradient bool false
AsyncConfig
  k_steps int32 -1
  max_merge_var_num int32 1
  send_queue_size int32 16
  independent_recv_thread bool false
  min_send_grad_num_before_recv int32 1
  thread_pool_size int32 1
  send_wait_times int32 1
  runtime_split_send_recv bool false
  launch_barrier bool true
  heter_worker_device_guard string cpu
  lr_decay_steps int32 10
  use_ps_gpu int32 0
  use_gpu_graph int32 0
TrainerDescConfig
  dump_fields_path string
  dump_fields string*
  dump_param string*
  stat_var_names string*
  trainer string
  device_worker string
  local_sparse string*
  remote_sparse string*
PipelineConfig
  micro_batch_size int32 1
  accumulate_steps int32 1
  schedule_mode string 1F1B
  p2p_cache_shape bool true
  enable_partial_send_recv bool true
TensorParallelConfig
  tensor_parallel_degree int32 1
  tensor_init_seed int32 -1
QatConfig
  channel_wise_abs_max bool true
  weight_bits int32 8
  activation_bits int32 8
  not_quant_pattern string*
  algo string
TableParameter
  table_id uint64
  table_name string
  table_class string
  shard_num uint64 1000
  type enum:TableType
  accessor TableAccessorParameter
  compress_in_save bool false
  enable_sparse_table_cache bool true
  sparse_table_cache_rate double 0.00055
  sparse_table_cache_file_num uint32 16
  enable_revert bool false
  shard_merge_rate float 1.0
  use_gpu_graph bool false
TableAccessorParameter
  accessor_class string
  fea_dim uint32 11
  embedx_dim uint32 8
  embedx_threshold uint32 10
  ctr_accessor_param CtrAccessorParameter
  table_accessor_save_param TableAccessorSaveParameter*
  embed_sgd_param SGDParameter
  embedx_sgd_param SGDParameter
  graph_sgd_param GraphSGDParameter
GraphSGDParameter
  nodeid_slot uint32 9008
  feature_learning_rate float 0.05
SGDParameter
  name string
  naive SparseNaiveSGDRuleParameter
  adagrad SparseAdagradSGDRuleParameter
  adam SparseAdamSGDParameter
SparseNaiveSGDRuleParameter
  learning_rate double 0.05
  initial_range double 0.0001
  weight_bounds float*
SparseAdagradSGDRuleParameter
  learning_rate double 0.05
  initial_g2sum double 3.0
  initial_range double 0.0001
  weight_bounds float*
SparseAdamSGDParameter
  learning_rate double 0.001
  initial_range double 0.0001
  beta1_decay_rate double 0.9
  beta2_decay_rate double 0.999
  ada_epsilon double 1e-08
  weight_bounds float*
CtrAccessorParameter
  nonclk_coeff float 0.1
  click_coeff float 1.0
  base_threshold float 1.5
  delta_threshold float 0.25
  delta_keep_days float 16.0
  show_click_decay_rate float 0.98
  delete_threshold float 0.8
  delete_after_unseen_days float 30.0
  ssd_unseenday_threshold int32 1
  show_scale bool true
  zero_init bool true
  load_filter_slots float*
  save_filter_slots float*
TableAccessorSaveParameter
  param uint32
  converter string
  deconverter string
FsClientParameter
  uri string
  user string
  passwd string
  hadoop_bin string
DistributedStrategy
  mode enum:Mode COLLECTIVE
  amp bool false
  recompute bool false
  localsgd bool false
  dgc bool false
  gradient_merge bool false
  lars bool false
  lamb bool false
  pipeline bool false
  elastic bool false
  auto bool false
  a_sync bool true
  sync_nccl_allreduce bool true
  nccl_comm_num int32 1
  use_hierarchical_allreduce bool false
  hierarchical_allreduce_inter_nranks int32 1
  sync_batch_norm bool false
  fuse_all_reduce_ops bool true
  fuse_grad_size_in_MB int32 32
  fuse_grad_size_in_TFLOPS float 50.0
  cudnn_exhaustive_search bool false
  conv_workspace_size_limit int32 512
  cudnn_batchnorm_spatial_persistent bool false
  adaptive_localsgd bool false
  fp16_allreduce bool false
  sharding bool false
  last_comm_group_size_MB float 1.0
  find_unused_parameters bool false
  tensor_parallel bool false
  without_graph_optimization bool true
  fuse_grad_size_in_num int32 8
  calc_comm_same_stream bool false
  asp bool false
  fuse_grad_merge bool false
  semi_auto bool false
  adam_d2sum bool false
  auto_search bool false
  heter_ccl_mode bool false
  is_fl_ps_mode bool false
  with_coordinator bool false
  qat bool false
  split_data bool true
  recompute_configs RecomputeConfig
  amp_configs AMPConfig
  localsgd_configs LocalSGDConfig
  gradient_merge_configs GradientMergeConfig
  dgc_configs DGCConfig
  pipeline_configs PipelineConfig
  a_sync_configs AsyncConfig
  lars_configs LarsConfig
  lamb_configs LambConfig
  adaptive_localsgd_configs AdaptiveLocalSGDConfig
  sharding_configs ShardingConfig
  hybrid_configs HybridConfig
  tensor_parallel_configs TensorParallelConfig
  trainer_desc_configs TrainerDescConfig
  downpour_table_param TableParameter*
  fs_client_param FsClientParameter
  qat_configs QatConfig
  build_strategy BuildStrategy
  gradient_scale_configs GradientScaleConfig
  execution_strategy ExecutionStrategy
NCCLConfig
  commName string
  ll_buffsize int32
  ll128_buffsize int32
  simple_buffsize int32
  buffsize_align int32
  nchannels int32
  algoStr string
  protoStr string
DpConfig
  nccl_config NCCLConfig
  check_nccl_config NCCLConfig
SepConfig
  nccl_config NCCLConfig
DpSepConfig
  nccl_config NCCLConfig
PpTpConfig
  nccl_config NCCLConfig
EpConfig
  nccl_config NCCLConfig
  grad_nccl_config NCCLConfig
MoeShardingConfig
  nccl_config NCCLConfig
  check_nccl_config NCCLConfig
CpConfig
  nccl_config NCCLConfig
CpShardingConfig
  nccl_config NCCLConfig
DpCpConfig
  nccl_config NCCLConfig
CpMpConfig
  nccl_config NCCLConfig
DefaultCommGroupConfig
  nccl_config NCCLConfig
ExecutionStrategy
  num_threads int32 1
  num_iteration_per_drop_scope int32 10
  num_iteration_per_run int32 1
  use_thread_barrier bool false
"""
